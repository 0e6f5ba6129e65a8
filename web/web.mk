# The page. Included by the Makefile; every target is instant when nothing has changed.
# Debian's emscripten needs Debian's own node modules for its optimiser.
WASM_ENV := NODE_PATH=/usr/share/nodejs
ENGINE := build-wasm/web/engine.wasm
PAGE := build/share/heed/page.html
WEB_SOURCES = $(shell find web/src web/build web/index.html web/vite.config.ts web/svelte.config.js examples -type f 2>/dev/null)

.PHONY: web web-engine web-where-possible web-test web-times web-shots

web: packages-build packages-web web-engine  ## the page: build/share/heed/page.html, one file with the engine in it
	@$(MAKE) --no-print-directory $(PAGE)

web-engine: build-wasm/build.ninja
	@$(WASM_ENV) cmake --build build-wasm --target engine -j $(JOBS) | grep -v 'no work to do' || true
	@test -f $(ENGINE)

build-wasm/build.ninja: cmake/wasm.cmake
	@$(WASM_ENV) emcmake cmake --preset wasm $(LAUNCHER) >/dev/null

web/node_modules/.installed: web/package.json web/package-lock.json
	@npm ci --prefix web --no-audit --no-fund --loglevel=error
	@touch $@

$(PAGE): $(ENGINE) $(WEB_SOURCES) web/node_modules/.installed
	@cd web && npm run --silent build -- --logLevel warn
	@mkdir -p $(dir $@)
	@cp web/dist/index.html $@

# The page where its tools can be had. Tests go on without it otherwise, and say so; a page that does
# not build is an error all the same.
web-where-possible: packages-build
	@if tools/install_packages.sh web && $(MAKE) --no-print-directory web/node_modules/.installed; then \
		$(MAKE) --no-print-directory web; \
	else echo 'make: emscripten, Chromium or the npm packages cannot be had here: no page, its tests are skipped'; fi

web-test: web packages-test  ## the tests of the page alone
	@cmake --preset release -DHEED_BUILD_TESTS=ON $(LAUNCHER) $(WERROR) >/dev/null
	@cmake --build build -j $(JOBS) --target heed_cli heed_web_test
	@ctest --test-dir build --output-on-failure -R '^Web'

web-times: web build  ## how long the page takes, held to its limits: on an idle machine
	@HEED=$(CURDIR)/build/heed web/tests/npm_test.sh test:times

web-shots: web  ## pictures of the page for people to look at, and those of docs/page.md
	@cd web && npm run --silent shots
