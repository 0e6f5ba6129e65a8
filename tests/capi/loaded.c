/* Finds heed at run time only: loaded.c PATH_TO_LIBHEED. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "heed/c.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  const char* (*version)(void) = (const char* (*)(void))dlsym(library, "heed_version");
  heed_status (*selfish)(const float*, const float*, float*, size_t, size_t, size_t, size_t) =
      (heed_status(*)(const float*, const float*, float*, size_t, size_t, size_t, size_t))dlsym(
          library, "heed_selfish_attention");
  if (version == NULL || selfish == NULL) return 1;
  const float key[] = {3, 4}, query[] = {1, 2};
  float out[2] = {0, 0};
  const int held = selfish(key, query, out, 1, 1, 2, 1) == HEED_OK && out[0] == 3 && out[1] == 4 &&
                   dlsym(library, "_ZN4heed14current_targetB5cxx11Ev") == NULL;
  printf("heed %s by dlopen: %s\n", version(), held ? "all held" : "FAILED");
  return held && dlclose(library) == 0 ? 0 : 1;
}
