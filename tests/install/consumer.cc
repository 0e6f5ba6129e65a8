// Example D of the worked notes, through the installed package.
#include <cmath>
#include <cstdio>

#include "heed/attention.h"
#include "heed/version.h"

int main() {
  const float q[] = {1, 0, 1, 1, 2, 1}, k[] = {0, 1, 1, 0, 1, 1}, v[] = {1, 2, 0, 1, 1, 3};
  const float expected[] = {0.598888f, 2.0f, 0.751745f, 2.255235f, 0.716005f, 2.291980f};
  float out[6];
  heed::attention(heed::bhnd(q, 1, 1, 3, 2), heed::bhnd(k, 1, 1, 3, 2), heed::bhnd(v, 1, 1, 3, 2),
                  heed::bhnd(out, 1, 1, 3, 2));
  for (int i = 0; i < 6; ++i) {
    if (!(std::fabs(out[i] - expected[i]) <= 1e-6f)) {
      std::printf("out[%d] = %f, expected %f\n", i, out[i], expected[i]);
      return 1;
    }
  }
  std::printf("heed %s\n", HEED_VERSION);
  return 0;
}
