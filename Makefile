# Thin on purpose: cargo and the small tools under tools/ do the work.
# `make help` lists the targets.

PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
SBINDIR    ?= $(PREFIX)/sbin
BINDIR     ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
UNITDIR    ?= $(PREFIX)/lib/systemd/system
DESTDIR    ?=

CARGO      ?= cargo
BENCH_ARGS ?=
TEST_ARGS  ?=
SIM_ARGS   ?=
FUZZ_SECONDS ?= 120

STAGE := target/stage
TOOL  := $(STAGE)/evensong-stage
DIRS   = --destdir '$(DESTDIR)' --prefix '$(PREFIX)' --libdir '$(LIBDIR)' --sbindir '$(SBINDIR)' \
         --bindir '$(BINDIR)' --includedir '$(INCLUDEDIR)' --mandir '$(MANDIR)' --unitdir '$(UNITDIR)'

.PHONY: all help deps need bench test loom fuzz sim mutations stage install uninstall abi compare clean

all: stage

help:
	@echo 'make               build everything into $(STAGE)/usr (the same as make stage)'
	@echo 'make bench         the classic tables, next to Debian'\''s corosync where it is installed'
	@echo '                   (BENCH_ARGS=--quick for a short run, BENCH_ARGS=--help for all options)'
	@echo 'make test          every test (ORIGINAL=1: fail where the original is missing)'
	@echo 'make sim           300 simulated clusters with faults (SIM_ARGS=--help for all options)'
	@echo 'make mutations     the simulator without one rule of the protocol at a time: must be noticed'
	@echo 'make loom          every interleaving of the shared-memory ring'\''s sleep protocol'
	@echo 'make fuzz          fuzz what a client or a peer can send, FUZZ_SECONDS=120 for each target'
	@echo 'make abi           only the tests of symbols, headers and layouts'
	@echo 'make compare       only the tests that run one C program here and on the original'
	@echo 'make deps          install the Debian packages that are missing (ORIGINAL=1: the original too)'
	@echo 'make install       install (DESTDIR PREFIX LIBDIR SBINDIR BINDIR INCLUDEDIR MANDIR UNITDIR)'
	@echo 'make uninstall     remove what install put there (same variables)'
	@echo 'make clean         remove everything that was built'

deps:
	@sh tools/deps.sh $(if $(ORIGINAL),--original)

# quiet when nothing is missing, so that bench and test can always ask
need:
	@sh tools/deps.sh --check $(if $(ORIGINAL),--original) 2>/dev/null || sh tools/deps.sh $(if $(ORIGINAL),--original)

stage:
	@$(CARGO) run -q -p evensong-stage -- stage

bench: need stage
	$(CARGO) run -q -p evensong-bench -- $(BENCH_ARGS)

test: need stage
	$(if $(ORIGINAL),EVENSONG_REQUIRE_ORIGINAL=1 )$(CARGO) test --workspace $(TEST_ARGS)

sim:
	$(CARGO) run -q --release -p evensong-sim -- $(if $(SIM_ARGS),$(SIM_ARGS),--seeds 300 --keep-going)

# rules that can be switched off are a feature of the core, so it has a target folder of its own
mutations:
	$(CARGO) run -q --release -p evensong-sim --features mutation --target-dir target/mutation -- --mutations

# loom replaces the atomics of the ring, so it has a target folder of its own
loom:
	RUSTFLAGS='--cfg loom' $(CARGO) test -p evensong-ring --test loom --release --target-dir target/loom

fuzz:
	@sh core/fuzz/run.sh $(FUZZ_SECONDS)

abi: need stage
	$(CARGO) test -p c-tests --test abi --test headers --test layout

compare: need stage
	@$(CARGO) run -q -p evensong-stage -- original
	EVENSONG_REQUIRE_ORIGINAL=1 $(CARGO) test -p c-tests --test same_output

# under sudo nothing is built: it would leave files of root in target/
install:
	@if [ -z "$$SUDO_UID" ] && command -v $(CARGO) >/dev/null; then $(MAKE) --no-print-directory stage; fi
	@[ -x $(TOOL) ] || { echo 'nothing is built yet: run make first' >&2; exit 1; }
	@$(TOOL) install $(DIRS)

uninstall:
	@[ -x $(TOOL) ] || { echo 'nothing is built here: run make first' >&2; exit 1; }
	@$(TOOL) uninstall $(DIRS)

clean:
	$(CARGO) clean
