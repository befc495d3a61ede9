# A thin front: the build is CMake's (CMakePresets.json), packages are packages/install's.
#
#   make            the release binary, build/release/gatedrill
#   make drill      plays the rolling upgrade incident; CAPTURE=some.pcapng takes its traffic
#   make test       builds with warnings as errors and runs every test
#   make fuzz       every fuzz target for SECONDS (default 600), by clang; TARGETS="pool strict"
#   make bench      processor time, memory and latency beside nginx and HAProxy
#   make soak       ten minutes under load, faults and vanishing peers; SECONDS=60 for one
#   make install    to PREFIX (default /usr/local), below DESTDIR
#   make format     formats the C++ sources
#
# Each installs the Debian packages that it misses; PACKAGES=present leaves that to you.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DRILL ?= scenarios/drills/inc-1-rolling-upgrade.yaml
OUT ?= drill-out
SECONDS ?= 600
TARGETS ?= head_parser strict chunk_framing pool exchange gor har access_log redact packet capture reassembly http_assembly http2 tls
GATEDRILL := build/release/gatedrill

need = $(if $(filter present,$(PACKAGES)),@true,@packages/install $(1))

.PHONY: release drill test fuzz bench soak install format clean

release:
	$(call need,build)
	@mkdir -p build
	@cmake --preset release > build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --build --preset release --target gatedrill -j $(JOBS)

drill: release
	$(call need,drill)
	@set -e; settings=(); \
	if [ -n "$(CAPTURE)" ]; then \
	  folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	  $(GATEDRILL) capture -r "$(CAPTURE)" -o "$$folder/traffic.db"; \
	  settings=(--set "traffic.recording=$$folder/traffic.db"); \
	fi; \
	$(GATEDRILL) run $(DRILL) --out $(OUT) "$${settings[@]}"

test:
	$(call need,build drill test)
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS)
	@ctest --preset dev -j $(JOBS)

# What is found beyond the committed corpus stays in build/fuzz/corpus; an input that breaks a target
# is left in build/fuzz.
fuzz:
	$(call need,build fuzz)
	@cmake --preset fuzz > build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
	@cmake --build --preset fuzz -j $(JOBS)
	@set -e; cd build/fuzz; for target in $(TARGETS); do \
	  mkdir -p corpus/$$target; \
	  echo "$$target: $(SECONDS) s"; \
	  tests/fuzz/$${target}_fuzz -max_total_time=$(SECONDS) -timeout=10 -max_len=4096 \
	    corpus/$$target ../../tests/fuzz/corpus/$$target > $$target.log 2>&1 || \
	    { tail -n 40 $$target.log; exit 1; }; \
	  tail -n 1 $$target.log; \
	done

bench: release
	$(call need,bench)
	@bench/run

soak: release
	$(call need,test)
	@nice tests/soak/run --seconds $(or $(SECONDS),600)

install: release
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

format:
	$(call need,format)
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format -i

clean:
	@rm -rf build $(OUT)
