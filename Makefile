# make build | run | test     each installs what it needs, builds, and does its job
# make help                   the rest
.DEFAULT_GOAL := build
SHELL := /bin/sh
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
LAUNCHER := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
WERROR := $(if $(CI),-DHEED_WERROR=ON)
# Debian's packages for Python belong to /usr/bin/python3, which need not be the first on PATH.
PYTHON := -DHEED_BUILD_PYTHON=ON $(if $(wildcard /usr/bin/python3),-DPython3_EXECUTABLE=/usr/bin/python3)

.PHONY: help build run test lint format install asan tsan test-neon coverage fuzz bench bench-peers goldens wheel clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

packages-%:
	@tools/install_packages.sh $*

build: packages-build  ## the library and build/heed
	@cmake --preset release -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_PYTHON=OFF $(LAUNCHER) $(WERROR) >/dev/null
	@cmake --build build -j $(JOBS)

run: build  ## the worked example, then attention of a real size
	@build/heed explain examples/i-love-ai.json
	@echo
	@build/examples/heed_real_size
	@echo
	@echo 'Next:  build/heed explain --text "your own sentence"         every step of it'
	@echo '       build/heed check examples/i-love-ai.json examples/i-love-ai.solution.json'
	@echo '       build/heed bench                                      how fast, as a share of this machine'
	@echo '       make web && build/heed serve                          the page: your own numbers, in the browser'
	@echo '       build/heed --help                                     the rest; docs/ and README.md'

test: packages-build packages-test web-where-possible  ## every test of a user-facing promise
	@cmake --preset release -DHEED_BUILD_TESTS=ON $(PYTHON) $(LAUNCHER) $(WERROR) >/dev/null
	@cmake --build build -j $(JOBS)
	@ctest --test-dir build -j $(JOBS) --output-on-failure

asan: packages-build packages-test packages-sanitize  ## all tests under AddressSanitizer and UBSan
	@cmake --preset asan -DHEED_BUILD_TESTS=ON $(LAUNCHER) >/dev/null
	@cmake --build build-asan -j $(JOBS)
	@ctest --test-dir build-asan -j $(JOBS) --output-on-failure

# Tests that can wake a thread, and races planted to see that they are noticed. Left out: what takes
# long because of its many small problems, which one thread computes.
TSAN_TARGETS := heed_base_test heed_kernels_test heed_cache_test heed_layer_test
TSAN_SLOW := AnyCombination|EdgesOfStrips
tsan: packages-build packages-test packages-sanitize  ## the threaded tests under ThreadSanitizer
	@cmake --preset tsan -DHEED_BUILD_TESTS=ON $(LAUNCHER) >/dev/null
	@cmake --build build-tsan -j $(JOBS) --target $(TSAN_TARGETS) heed_race
	@ctest --test-dir build-tsan -j $(JOBS) --output-on-failure -E '$(TSAN_SLOW)' \
		-L '^races$$|^heed_(base|kernels|cache|layer)_test$$'

# A build without threads, so what tells of threads is left out.
NEON_TARGETS := heed_kernels_test heed_cache_test heed_layer_test
test-neon: packages-build packages-test packages-neon  ## the kernels for 64-bit ARM, cross-compiled, under qemu
	@cmake --preset neon -DHEED_BUILD_TESTS=ON $(LAUNCHER) >/dev/null
	@cmake --build build-neon -j $(JOBS) --target $(NEON_TARGETS)
	@ctest --test-dir build-neon -j $(JOBS) --output-on-failure -E Threads \
		-L '^heed_(kernels|cache|layer)_test$$'

FORMATTED = $(shell git ls-files '*.h' '*.cc' '*.c')
lint: packages-build packages-test packages-lint  ## clang-format, clang-tidy and the direction of includes
	@clang-format --dry-run --Werror $(FORMATTED)
	@tools/check_layers.py
	@cmake --preset debug -DHEED_BUILD_TESTS=OFF -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang $(LAUNCHER) -B build-lint >/dev/null
	@git ls-files 'src/*.cc' 'cli/*.cc' | grep -v _test.cc | xargs -P $(JOBS) -n 4 clang-tidy -p build-lint --quiet

goldens: build  ## writes the golden pages of heed explain anew: read the difference before committing it
	@python3 tests/golden/golden.py --heed build/heed --update

format:  ## formats every C and C++ file
	@clang-format -i $(FORMATTED)

install: build  ## installs below PREFIX (default /usr/local)
	@cmake --install build --prefix $(or $(PREFIX),/usr/local)

# What exercises those layers; the tests of other layers are not built for it.
COVERAGE_TARGETS := heed_cli heed_reference_test heed_trace_test heed_io_test heed_onnx_reference_test \
	heed_mistakes_test heed_examples_test
coverage: packages-build packages-test packages-coverage  ## line coverage of the layers that explain
	@cmake --preset coverage -DHEED_BUILD_TESTS=ON $(LAUNCHER) >/dev/null
	@cmake --build build-coverage -j $(JOBS) --target $(COVERAGE_TARGETS)
	@find build-coverage -name '*.gcda' -delete
	@ctest --test-dir build-coverage -j $(JOBS) --output-on-failure \
		-E 'NOT_BUILT|Install|Docs|Layers|Exports|Snippets|Capi|Python|Bench|Opens|Web' | tail -3
	@gcovr --root . --filter 'src/(reference|trace|io)/' --exclude '.*_test.cc' build-coverage

FUZZ_SECONDS ?= 60
FUZZ_PARSERS := npy npz safetensors safetensors_index problem
fuzz: packages-build packages-sanitize  ## every parser under libFuzzer, a minute each (FUZZ_SECONDS=60)
	@cmake --preset fuzz $(LAUNCHER) >/dev/null
	@cmake --build build-fuzz -j $(JOBS) --target $(FUZZ_PARSERS:%=heed_fuzz_%)
	@for parser in $(FUZZ_PARSERS); do mkdir -p build-fuzz/corpus/$$parser; echo "fuzzing $$parser for $(FUZZ_SECONDS) s"; \
		build-fuzz/fuzz/heed_fuzz_$$parser -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 -max_len=4096 \
			-print_final_stats=1 -print_funcs=0 -verbosity=0 -artifact_prefix=build-fuzz/found-$$parser- \
			build-fuzz/corpus/$$parser fuzz/corpus/$$parser || exit 1; done

BENCH_CLAIMS := doubling memory overhead products cascade
bench: packages-build packages-bench  ## speed as fractions of this machine's limits (BENCH="--shapes P2"), and single claims
	@cmake --preset release -B build-bench -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_BENCH=ON $(LAUNCHER) >/dev/null
	@cmake --build build-bench -j $(JOBS)
	@build-bench/heed bench $(BENCH)
	@for claim in $(BENCH_CLAIMS); do echo; build-bench/bench/heed_bench_$$claim || exit 1; done

bench-peers: packages-build packages-peers  ## heed beside ONNX Runtime, PyTorch, OpenBLAS, Eigen (PEERS="--shapes P2"); needs PyPI
	@tools/install_peers.sh build-peers/venv
	@cmake --preset release -B build-bench -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_PEERS=ON $(LAUNCHER) >/dev/null
	@cmake --build build-bench -j $(JOBS) --target heed_bench_worker
	@python3 bench/peers/run.py --worker build-bench/bench/peers/heed_bench_worker --python build-peers/venv/bin/python \
		--scratch build-peers --results bench/peers/results.json --docs docs/performance.md $(PEERS)
	@build-peers/venv/bin/python -m pip install --quiet --disable-pip-version-check . && \
		build-peers/venv/bin/python bench/python/torch_swap.py

wheel: packages-build packages-wheel  ## a Python wheel in build-wheel/dist, tested in an empty environment; needs PyPI
	@tools/make_wheel.sh build-wheel

include web/web.mk

clean:  ## removes every build folder
	rm -rf build build-*
