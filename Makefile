# SPDX-License-Identifier: MIT
# Short commands for CMake, CTest and the pirn command; `make` lists them. A fresh machine needs
# nothing else: the first command installs what is missing (tools/setup).
#
#   YES=1   set up without asking       JOBS=n   parallel jobs (default: online CPUs)

export YES ?=
export RUFF_CACHE_DIR := $(CURDIR)/build/.ruff_cache
JOBS ?= $(shell nproc)
TEST_JOBS = $(shell expr 3 '*' $(JOBS))
VENV := .venv/bin
PREFIX ?= /usr/local

# The presets and tests of `make check`. The release preset runs every test, last. The others run
# the tests in which they are most likely to find faults, and build only those: a test whose
# program is not built fails. The simulator always has assertions on. Labels: sim unit policy posix
# conformance tls preempt stress apps fault bench tools gdb memcheck sanitizers trace prof security
# documents chip, and options (of programs of all folders: release only).
LABELS_debug := unit|tls|start|gdb|trace|prof
LABELS_clang := unit
LABELS_asan := unit|conformance|fault|stress|sanitizers
LABELS_tsan := unit|conformance|stress|sanitizers|prof
LABELS_aarch64 := unit|policy
LABELS_riscv64 := unit

# Release runs these with 1, 2 and 4 workers; here only the number that finds most runs.
SKIP_debug := ^(unit|cpp)-.*-[14]$$|^tls[.].*[.](central|dist|request)[.]
SKIP_clang := ^(unit|cpp)-.*-[14]$$
SKIP_asan := ^(unit|cpp)-.*-1$$|^unit-(gate|groups):
SKIP_tsan := ^(unit|cpp)-.*-1$$|^unit-(gate|groups):
SKIP_aarch64 := ^(unit|cpp|policy-unit)-.*-[14]$$
# `make check` has run these before (check-chip).
SKIP_release := ^chip[.]
# This preset mostly finds code that does not compile: one run of each policy.
SKIP_riscv64 := ^(classq|cpp|policy)-|^unit-.*(:|-[14]$$)

# Targets of Ninja; FOLDER/all are the targets that the folder defines.
UNIT := tests/unit/all tests/cpp/all
TARGETS_debug := pirn-pthread tools/all $(UNIT) $(patsubst %,tests/%/all,tls start preempt stress gdb trace prof)
# The metered library has the same sources; clang-tidy looks at its own one.
TARGETS_clang := pirn pirn-pthread pirn-sim pirn-sim-posix apps/all $(UNIT)
TARGETS_asan := pirn-pthread $(UNIT) tests/conformance/all tests/fault/all tests/stress/all tests/sanitizers/all
TARGETS_tsan := pirn-pthread $(UNIT) tests/conformance/all tests/stress/all tests/sanitizers/all tests/prof/all
TARGETS_riscv64 := src/all tests/unit/all
TARGETS_aarch64 := src/all $(UNIT) tests/stats/all $(addprefix pirn-policy-,unit example register cxx slow-start)

# ThreadSanitizer needs shadow memory at fixed addresses, which high address randomization takes.
RUN_tsan := setarch -R

CHECKS := includes order_tags spdx length paths links places results_table versions commits format

# Python outside tools/, by the same rules.
RUFF_REST := --config tools/pyproject.toml $(wildcard tests apps bench hw kernel packaging)
# Folders whose scripts have their types checked: each alone, because several have a run.py.
TYPED := hw/tests hw/formal bench kernel/guest
MYPY = cd $(CURDIR)/tools && ../$(VENV)/mypy --no-error-summary --cache-dir ../build/.mypy_cache

.DEFAULT_GOAL := help
# All but the steps of `make check`, which say what each needs.
ifndef STEPS
.NOTPARALLEL:
endif
PRESETS := debug clang asan tsan aarch64 riscv64 release
CHECKED := $(addprefix check-,$(PRESETS))
FUZZED := fuzz-trace fuzz-prof fuzz-layout
GUESTS := guest-aarch64 guest-riscv64 guest-linux-bullseye guest-linux-bookworm
.PHONY: _steps configure lint-style lint-tidy help setup apps programs check-packages check-mpi world check-world soak demo check check-containers check-glibc deb wheel check-abi check-packaging $(CHECKED) check-boards check-chip chip check-formal boards boards-repeat board-lists board-cost \
        board-size board-latency board-sections board-apps kernel kernel-guest kernel-doc numa-guest pkeys-guest hotplug-guest $(GUESTS) board-scheduling check-conformance check-slow check-seeds stress $(FUZZED) top-picture pictures site check-site \
        bench benchmarks-doc scheduling-cost profiling-cost figures-doc affinity-doc pipelines-doc cache-aware-doc scaling-doc library-waits-doc mpi-doc starvation chip-figures chip-area results-table options-doc conformance-doc format lint tidy install clean

## help: this list
help:
	@sed -n 's/^## \([A-Za-z0-9-]*\): */  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

## setup: install what is missing (packages are named; asks on a terminal unless YES=1)
setup:
	@tools/setup --quiet

## apps: build libraries and applications (build/release) and third-party programs (build/programs)
apps: setup build-release
	@tools/setup --quiet --group programs
	$(VENV)/pirn programs --build

## programs: build third-party programs, compare them with NPTL, write docs/results/programs.md
programs: setup build-release
	@tools/setup --quiet --group programs
	$(VENV)/pirn programs --output docs/results/programs.md $(PROGRAMS_ARGS)

## check-packages: allocators, OpenMP with GLib, rustc, MPICH, nginx, redis of Debian's packages, a Go program, preloaded (network)
check-packages: setup build-release
	tests/start/packages.sh $(CURDIR)/build/release/lib/libpirn-pthread.so $(CURDIR)/build/programs/start

## check-mpi: libpirn-mpi with Debian's Open MPI and MPICH: install them, build, test; mpi4py's own tests, preloaded (network, the first time; minutes)
check-mpi: setup
	@tools/setup --quiet --group mpi
	cmake --preset release > /dev/null
	cmake --build --preset release --parallel $(JOBS) --target tests/mpi/all
	ctest --preset release --no-tests=error --parallel $(JOBS) -L '^mpi$$'
	$(VENV)/python tests/mpi/mpi4py_suite.py build/programs/mpi4py $(addprefix build/release/lib/libpirn-,pthread.so.0 mpi-openmpi.so.0) -- \
	    mpirun.openmpi --oversubscribe --bind-to none --mca btl self,vader --mca pml ob1

## world: run programs of Debian's packages with NPTL and preloaded, write docs/results/world.md (network, 2 GB); WORLD_ARGS: pirn world --help
world: setup build-release
	$(VENV)/pirn world --output docs/results/world.md $(WORLD_ARGS)

## check-world: the same with some fast programs, and no page (network, the first time)
check-world: setup build-release
	$(VENV)/pirn world --sample --rounds 1 $(WORLD_ARGS)

## soak: redis, PostgreSQL and a Java server under load at once, an hour with Pirn, 15 minutes with NPTL; write docs/results/soak.md (network, the first time); SOAK_ARGS: pirn soak --help
soak: setup build-release
	$(VENV)/pirn soak --output docs/results/soak.md $(SOAK_ARGS)

## demo: decode a real video under NPTL and every policy; table and plot
demo:
	@tools/setup --quiet --only demo
	$(call configure,release)
	cmake --build --preset release --parallel $(JOBS) --target pirn pirn-pthread mjpeg-nptl mjpeg-pirn
	$(VENV)/pirn demo $(DEMO_ARGS)

# Configures if there is no build yet. Afterwards CMake notices changes, except newly installed
# tools: the demo needs fewer than the tests.
configure = @test -f build/$(1)/build.ninja -a ! .venv/.stamp-base -nt build/$(1)/build.ninja || cmake --preset $(1)

## build-PRESET: configure and build a preset (cmake --list-presets)
build-%:
	$(call configure,$*)
	cmake --build --preset $* --parallel $(JOBS) $(if $(TARGETS_$*),--target $(TARGETS_$*))

# Many tests wait. One that keeps a CPU busy counts as two (PROCESSORS).
define run_tests # preset
$(RUN_$(1)) ctest --preset $(1) --parallel $(TEST_JOBS) $(if $(LABELS_$(1)),-L '$(LABELS_$(1))') \
    $(if $(SKIP_$(1)),-E '$(SKIP_$(1))')
endef

## check: everything that must pass: lint, all builds, tests; ends with the release tests
check: setup
	@tools/setup --quiet --group site --group chip
	@mkdir -p build && rm -f build/check.failed
	@STEPS=1 $(MAKE) --no-print-directory -j2 --output-sync=target _steps \
	    || { echo "make check: failed: $$(paste -sd' ' build/check.failed)" >&2; exit 1; }
	@$(MAKE) --no-print-directory test-release || { echo "make check: failed: test-release" >&2; exit 1; }

# `make check` runs these beside each other, one of each row. The first row keeps the CPUs busy but
# for its configuring and linking; tests wait. The release tests run alone, with the output of each
# when it ends, and last: their summary ends the output. A step is a target of this file, its output
# is shown when it ends, with the CPU time (user, system) that it took.
BUILDS := configure $(addprefix build-,$(PRESETS)) check-chip
TESTS := lint-style check-site lint-tidy check-boards $(addprefix test-,$(filter-out release,$(PRESETS)))
_steps: $(addprefix step-,$(BUILDS) $(TESTS))
# Makes each step of a row need the one before.
in_turn = $(if $(word 2,$(1)),$(eval step-$(word 2,$(1)): step-$(firstword $(1)))$(call in_turn,$(wordlist 2,$(words $(1)),$(1))))
$(call in_turn,$(BUILDS))
$(call in_turn,$(TESTS))
# By addprefix, as names at the beginning of a line are targets for users, which `make help` lists.
$(addprefix step-,lint-tidy): step-configure
$(addprefix step-,check-chip): step-check-boards # both set up .boards
$(foreach preset,$(filter-out release,$(PRESETS)),$(eval step-test-$(preset): step-build-$(preset)))
# Not one of this make's jobs: programs that tests start would see its flags. (Behind a name of its
# own, or make -n runs it.)
ALONE = env -u STEPS -u MAKEFLAGS -u MFLAGS $(MAKE) --no-print-directory
$(addprefix step-,$(BUILDS) $(TESTS)): step-%:
	@start=$$(date +%s); \
	if $(ALONE) $*; then \
	    times > build/$*.times; \
	    echo "make check: $* passed in $$(($$(date +%s) - start)) s, CPU time $$(tail -1 build/$*.times)"; \
	else \
	    echo "make check: $* failed" >&2; echo $* >> build/check.failed; exit 1; \
	fi

## configure: configure the presets of `make check` beside each other, as CMake uses one CPU
configure:
	@printf '%s\n' $(PRESETS) | xargs -P $(JOBS) -I PRESET sh -c \
	    'cmake --preset PRESET > build/PRESET.log 2>&1 || { cat build/PRESET.log; exit 255; }'

$(addprefix test-,$(PRESETS)): test-%:
	$(call run_tests,$*)

## check-release: the whole test suite on the release build
## check-debug: unit and TLS tests with internal assertions on
## check-clang: build with clang 14, tests
## check-asan: tests under AddressSanitizer
## check-tsan: tests under ThreadSanitizer
## check-aarch64: cross build, tests under qemu-user
## check-riscv64: cross build of the libraries, few tests under qemu-user
$(CHECKED): check-%: setup build-% test-%

# port/board/<name>/board.toml describes each board and its purposes.
BOARD_LISTS := PYTHONPATH=tools $(VENV)/python -B -m pirn_tools.board.lists
# Names of boards, or of families; empty: all.
BOARDS ?=

# Builds the boards of BOARDS that have the purpose, then runs the commands with each as $$board. $(3): what is
# built (TARGETS_...), if that is not everything.
define on_boards # purpose, commands, variables of make
@set -e; boards="$$($(BOARD_LISTS) names $(if $(1),--for $(1)) $(BOARDS))"; \
[ -n "$$boards" ] || { echo "none of the boards $(BOARDS) is for that" >&2; exit 2; }; \
tools/setup-boards --quiet $$($(BOARD_LISTS) setup $$boards); \
for board in $$boards; do $(MAKE) --no-print-directory build-$$board $(3); $(2); done
endef

## boards: set up, build, and run all tests on BOARDS (names or families; all) under QEMU
boards: setup
	$(call on_boards,,ctest --preset $$board --parallel $(JOBS))

## check-boards: one board of two families, few tests
check-boards: setup
	$(call on_boards,check,ctest --preset $$board --parallel $(JOBS) -L fast)

# The groups of hw/tests/run.py.
CHIP_GROUPS := programs random litmus scheduler workloads

# Pirn's own tests on the chip; $(1): options of ctest; $(2): as the third of on_boards.
on_chip = $(call on_boards,chip,ctest --preset $$board --parallel $(JOBS) $(1),$(2))

## check-chip: the chip's instructions, memory order, coherence and scheduler, against a second simulator; Pirn on it (4 minutes)
check-chip: setup
	@tools/setup --quiet --group chip
	$(VENV)/python hw/tests/run.py --jobs $(JOBS) $(CHIP_GROUPS)
	$(call on_chip,-L fast,TARGETS_$$board=suites)

## chip: the same with more sizes, seeds and rounds, faults built in, which the tests must find, and the proofs (hours on two CPUs)
chip: setup check-formal
	@tools/setup --quiet --group chip
	$(VENV)/python hw/tests/run.py --full --jobs $(JOBS) $(CHIP_GROUPS) mutants
	$(call on_chip)

## check-formal: proofs of the chip's hardware scheduler and memory, and faults that they must find (6 minutes of CPU time)
check-formal: setup
	@tools/setup --quiet --group formal
	$(VENV)/python hw/formal/run.py

## boards-repeat: some tests of each kind, RUNS times (100) on one board of each family, or of BOARDS, on a busy machine
RUNS ?= 100
boards-repeat: setup
	$(call on_boards,$(if $(BOARDS),,first),ctest --preset $$board --parallel $$((2 * $(JOBS))) -L repeat --repeat until-fail:$(RUNS))

## board-lists: update presets and the list in docs/guide/boards.md after a change of a board.toml
board-lists: setup
	$(BOARD_LISTS) write

## board-cost: count the instructions of operations on boards, write docs/results/board-cost.md
board-cost: setup
	$(call on_boards,,:)
	$(VENV)/python bench/run_board.py --publish

## board-latency: count instructions from interrupts to threads on boards, write docs/results/board-latency.md
board-latency: setup
	$(call on_boards,,:)
	$(VENV)/python bench/run_latency.py --publish

## board-size: build small systems without each feature, write docs/results/board-size.md
board-size: setup
	$(call on_boards,sizes,$(VENV)/python -B tests/board/small/small.py --update $$board)
	$(VENV)/python -B tests/board/small/small.py --publish

## board-sections: count how long interrupts are disabled on boards, write docs/results/board-sections.md
board-sections: setup
	$(call on_boards,sections,cmake --preset $$board -B build/$$board/sections -DPIRN_SECTIONS=ON -DBUILD_TESTING=OFF; \
	    cmake --build build/$$board/sections --parallel $(JOBS))
	$(VENV)/python bench/run_sections.py --publish

## board-apps: x264 and applications on boards: output compared, instructions of cores counted; writes docs/results/board-programs.md
board-apps: build-release
	@tools/setup --quiet --group programs
	$(call on_boards,programs,:)
	$(VENV)/python bench/run_board_apps.py --publish $(BENCH_ARGS)

## board-scheduling: count the cost of scheduling on boards, write docs/results/board-scheduling.md
board-scheduling: setup
	$(call on_boards,first,:)
	$(VENV)/python bench/run_board_scheduling.py --publish $$($(BOARD_LISTS) names --for first $(BOARDS) | sed 's/[^ ]*/--board &/g')

## kernel: build the scheduler for Linux with task affinity, its command and library, in build/kernel (clang-19)
kernel:
	@tools/setup-kernel --quiet
	$(call configure,kernel)
	cmake --build --preset kernel --parallel $(JOBS) --target kernel/all

## kernel-guest: boot Linux in QEMU, run programs under its schedulers and ours, and what can go wrong (network; minutes); KERNEL_ARGS: run.py --help
kernel-guest: kernel
	ctest --preset kernel
	$(VENV)/python kernel/guest/run.py $(KERNEL_ARGS)

## kernel-doc: the same, each program five times, and write docs/results/kernel.md (ten minutes)
kernel-doc: kernel
	$(VENV)/python kernel/guest/run.py --rounds 5 $(KERNEL_ARGS)
	$(VENV)/python kernel/guest/page.py

## numa-guest: boot Linux in QEMU with two NUMA nodes, and see where threads, stacks and consumers go (network)
numa-guest: kernel
	$(VENV)/python kernel/guest/numa.py

## pkeys-guest: boot Linux in QEMU on a processor with protection keys, and test threads' rights (network)
pkeys-guest: setup build-release
	@tools/setup-kernel --quiet
	$(VENV)/python kernel/guest/pkeys.py

## hotplug-guest: boot Linux in QEMU, take a processor offline under threads, limit CPU time by control groups (network)
hotplug-guest: setup build-release
	@tools/setup-kernel --quiet
	$(VENV)/python kernel/guest/hotplug.py

# Guests of another architecture with the build of that preset; guests with an older kernel with the
# release build. The tests that `make check` leaves out under qemu-user are left out here, too.
GUEST_PRESET = $(if $(filter linux-%,$*),release,$*)
## guest-aarch64: boot Debian of that architecture in QEMU, run the tests of preset aarch64 there, and programs of Debian (network); GUEST_ARGS: pirn guest --help
## guest-riscv64: the same for RISC-V 64
## guest-linux-bullseye: boot the kernel of Debian bullseye (5.10) with bookworm's programs, run the tests of the release build (network)
## guest-linux-bookworm: the same with bookworm's kernel (6.1)
$(GUESTS): guest-%: setup
	@tools/setup-guest --quiet $*
	$(call configure,$(GUEST_PRESET))
	cmake --build --preset $(GUEST_PRESET) --parallel $(JOBS) \
	    --target src/all $(patsubst %,tests/%/all,unit cpp policy posix fault stress tls preempt stats conformance)
	$(VENV)/pirn guest $* --skip '$(SKIP_aarch64)' $(GUEST_ARGS)

# Releases of Debian on whose C libraries the tests run.
RELEASES ?= bullseye bookworm trixie sid

## check-glibc: build with the C library of Debian bullseye, and test that build on those of RELEASES (glibc 2.31 to sid's; network, 30 minutes)
check-glibc: setup
	@tools/setup-glibc --quiet bullseye $(RELEASES)
	$(call configure,glibc)
	cmake --build --preset glibc --parallel $(JOBS) \
	    --target $(patsubst %,tests/%/all,tls posix preempt conformance)
	@status=0; for release in $(RELEASES); do \
	    echo "check-glibc: on Debian $$release, $$(grep ^libc6= .glibc/$$release/packages)"; \
	    IN_ROOT=$$release ctest --preset glibc --parallel $(TEST_JOBS) -L '^(tls|posix|preempt|conformance)$$' || status=1; \
	done; exit $$status

# A filter of system calls for all tests of these labels, as Docker has it by default.
IN_DOCKERS_FILTER = build/release/tests/containers/containers-confine --filter tests/containers/docker.filter --

## check-containers: tests where containers run programs: filters of system calls, namespaces, limits; without Docker (15 minutes)
check-containers: setup build-release
	ctest --preset release --parallel $(TEST_JOBS) -C containers -L '^containers$$'
	$(IN_DOCKERS_FILTER) ctest --preset release --parallel $(TEST_JOBS) -L '^(unit|posix|preempt|tls|start|fault|conformance)$$'

# Libraries for packages, alone: with the compilers and the C library of Debian bullseye.
PACKAGED := -G Ninja -S . -DPIRN_DEVELOP=OFF -DPIRN_METERED=OFF -DPIRN_WERROR=OFF
define packaged_libraries # machine, toolchain file
@cmake $(PACKAGED) -B build/packages/lib-$(1) -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/port/env/linux/$(2).cmake > /dev/null
cmake --build build/packages/lib-$(1) --parallel $(JOBS)
endef

## deb: build Debian packages of the last commit, for bullseye to sid, in build/packages/deb; lintian (network, the first time)
deb:
	@tools/setup --quiet --group packaging
	@tools/setup-glibc --quiet bullseye
	packaging/deb $(DEB_ARGS)

## wheel: build wheels of the pirn command with the libraries, x86-64 and AArch64, in build/packages/wheel (network, the first time)
wheel:
	@tools/setup --quiet --group packaging
	@tools/setup-glibc --quiet --aarch64 bullseye
	rm -rf build/packages/wheel
	$(call packaged_libraries,x86_64,oldest)
	$(call packaged_libraries,aarch64,oldest-aarch64)
	@set -e; for machine in x86_64 aarch64; do \
	    $(VENV)/python packaging/wheel.py --libraries build/packages/lib-$$machine/lib --machine $$machine --output build/packages/wheel; \
	done
	$(VENV)/twine check --strict build/packages/wheel/*
	$(VENV)/auditwheel show build/packages/wheel/*_x86_64.whl

## check-abi: compare the libraries' binary interfaces with those recorded in packaging/abi and with the last tag's; ABI_ARGS=--record records them
check-abi:
	@tools/setup --quiet --group packaging
	@tools/setup-glibc --quiet bullseye
	$(call packaged_libraries,x86_64,oldest)
	$(VENV)/python packaging/abi.py --libraries build/packages/lib-x86_64/lib $(ABI_ARGS)

## check-packaging: build all packages, install each where nothing else is, and run programs with them (network, 15 minutes); PARTS: deb wheel conan fetch abi
PARTS ?= deb wheel conan fetch abi
check-packaging: $(filter deb wheel,$(PARTS)) $(if $(filter abi,$(PARTS)),check-abi)
	@tools/setup --quiet --group packaging
	@tools/setup-packaging --quiet $(if $(filter deb,$(PARTS)),$(RELEASES)) $(if $(filter wheel,$(PARTS)),python python-trixie python-aarch64)
	@RELEASES='$(RELEASES)' tests/packaging/all.sh $(PARTS)

# Tests declared with CONFIGURATIONS seeds run only here.
## check-conformance: the conformance suite under every policy, on 1 and 2 CPUs, preempted and not
check-conformance: setup build-release
	ctest --preset release --parallel $(TEST_JOBS) -C conformance -L conformance

## check-slow: the conformance suite and POSIX threads at random, with system calls that take long now and then (an hour)
check-slow: setup build-release
	ctest --preset release --parallel $(JOBS) -C slow -L '^slow$$'

## check-seeds: the simulator's long run over thousands of seeds (an hour)
check-seeds: setup build-release
	ctest --preset release --parallel $(JOBS) -C seeds -L seeds --timeout 14400

## stress: POSIX threads at random, many seeds and workers, for STRESS_MINUTES (30); STRESS_ARGS: seeds.py --help
STRESS_MINUTES ?= 30
stress: setup
	$(call configure,release)
	cmake --build --preset release --parallel $(JOBS) --target pirn-stress-posix-pirn
	$(VENV)/python -B tests/stress/seeds.py --minutes $(STRESS_MINUTES) $(STRESS_ARGS) \
	    build/release/tests/stress/pirn-stress-posix-pirn

## fuzz-trace: read 100,000 damaged traces (15 minutes)
## fuzz-prof: read 100,000 damaged profiles (15 minutes)
## fuzz-layout: look at 100,000 processes with damaged data (20 minutes)
$(FUZZED): fuzz-%: setup
	cd tools && PYTHONPATH=.:tests ../$(VENV)/python tests/fuzz_$*.py $(FUZZ_ARGS)

## top-picture: make the picture of pirn top in the guide from a running program
top-picture: build-release
	PIRN_CPUS=2 PIRN_PREEMPT=1 PYTHONPATH=tools $(VENV)/python tools/pictures/top.py -o docs/guide/img/top.png -- \
	    build/release/tests/live/live-waits clock run run run

## site: build the documents as a web site with search, in build/site
site:
	@tools/setup --quiet --group site
	$(VENV)/sphinx-build -q -W --keep-going -j $(JOBS) -b html -c tools/site -d build/site-doctrees . build/site
	@echo "site: build/site/index.html"

## check-site: read the site in headless Chromium: links, anchors, pictures, search (skipped without a browser)
check-site: site
	cd tools && ../$(VENV)/python -m pytest site/tests
	$(VENV)/python tools/site/check.py

## pictures: draw the graphs of the documents (docs/**/*.dot) with Graphviz
pictures:
	@tools/setup --quiet --group graphs
	$(VENV)/python tools/pictures/graphs.py

## bench: all benchmark suites against their peers; CSV and plots in results/
bench:
	@tools/setup --quiet --group bench
	$(MAKE) --no-print-directory build-release
	$(VENV)/python bench/run_micro.py $(BENCH_ARGS)
	$(VENV)/python bench/run_macro.py

## benchmarks-doc: run the benchmark suites and the demo, write docs/results/benchmarks.md (20 minutes)
benchmarks-doc:
	@tools/setup --quiet --group bench
	$(MAKE) --no-print-directory build-release
	$(VENV)/python bench/run_micro.py --publish
	$(VENV)/python bench/run_macro.py --publish
	$(VENV)/pirn demo --publish
	$(MAKE) --no-print-directory results-table

## scheduling-cost: measure the scheduler's own time, write docs/results/scheduling-cost.md (5 minutes)
scheduling-cost: setup build-release
	$(VENV)/python bench/run_scheduling.py --no-build --publish $(BENCH_ARGS)

## profiling-cost: measure the cost of profiling, write docs/results/profiling-cost.md (10 minutes)
profiling-cost: setup build-release
	@tools/setup --quiet --group programs
	$(VENV)/python bench/run_profiling.py --publish $(BENCH_ARGS)

## chip-figures: operations, applications and schedulers on the chip, update docs/results/mips.md, incoherent.md, hw.md, threads.md, asymmetric.md, waves.md (four hours)
chip-figures: setup
	@tools/setup --quiet --group chip
	@tools/setup-boards --quiet $$($(BOARD_LISTS) setup pirn-soc)
	$(VENV)/pirn bench figures mips --output docs/results
	$(VENV)/pirn bench figures incoherent --output docs/results
	$(VENV)/pirn bench figures hw --output docs/results
	$(VENV)/pirn bench figures threads --output docs/results
	$(VENV)/pirn bench figures asymmetric --output docs/results
	$(VENV)/pirn bench figures waves --output docs/results

## chip-area: gates of the chip's hardware scheduler, its clock in an FPGA, cycles against clock: docs/results/area.md (some hours)
chip-area: setup
	@tools/setup --quiet --group fpga
	$(VENV)/pirn bench figures area --output docs/results

## affinity-doc: task affinity in the model and here, update docs/results/affinity.md (10 minutes)
affinity-doc: setup build-release
	$(VENV)/pirn bench figures affinity --output docs/results

## pipelines-doc: programs that work in stages, with learned affinity and without, update docs/results/pipelines.md (10 minutes)
pipelines-doc: setup build-release
	$(VENV)/pirn bench figures pipelines --output docs/results

## cache-aware-doc: policies that know what threads demand of a cache, in the model, update docs/results/cache-aware.md (2 minutes)
cache-aware-doc: setup build-release
	$(VENV)/pirn bench figures cache-aware --output docs/results

## scaling-doc: what more CPUs gain, up to 256, in the model, update docs/results/scaling.md (10 minutes)
scaling-doc: setup build-release
	$(VENV)/pirn bench figures scaling --output docs/results

## library-waits-doc: threads that wait in stdio, C++, OpenMP, the resolver, update docs/results/library-waits.md (5 minutes)
library-waits-doc: setup build-release
	$(VENV)/pirn bench figures library-waits --output docs/results

## mpi-doc: messages between threads of 2 and 4 MPI ranks, and collective calls, update the page mpi.md in docs/results (three quarters of an hour)
mpi-doc: setup
	@tools/setup --quiet --group mpi
	cmake --preset release > /dev/null
	$(MAKE) --no-print-directory build-release
	$(VENV)/pirn bench figures mpi --output docs/results

## starvation: threads that wait while others compute in libraries, update docs/results/starvation.md (25 minutes)
starvation: setup build-release
	$(VENV)/pirn bench figures starvation --output docs/results

## figures-doc: repeat the runs of docs/results/figures.md, update it and its pictures (1 minute)
figures-doc: setup build-release
	$(VENV)/pirn bench figures shmac --output docs/results

## results-table: update the README's table of results from docs/results/benchmarks.md
results-table:
	python3 tools/checks/results_table.py --fix

## options-doc: update docs/guide/options.md from the library's table of options
options-doc: setup build-release
	$(VENV)/pirn options-page --output docs/guide/options.md

## conformance-doc: update docs/guide/conformance.md from its table
conformance-doc: setup
	$(call configure,release)
	cmake --build --preset release --parallel $(JOBS) --target conformance-doc

## format: format C and C++ (clang-format 14) and Python (ruff)
format: setup
	$(VENV)/python tools/checks/format.py --fix
	cd tools && ../$(VENV)/ruff format --quiet . && ../$(VENV)/ruff check --quiet --fix .
	$(VENV)/ruff format --quiet $(RUFF_REST)
	$(VENV)/ruff check --quiet --fix $(RUFF_REST)

## lint: house rules, lists of boards, shellcheck, ruff, mypy, clang-tidy (shallow)
lint: setup lint-style
	@cmake --preset clang > /dev/null
	@$(MAKE) --no-print-directory lint-tidy

## lint-style: lint without clang-tidy
lint-style:
	shellcheck -x tools/setup tools/setup-boards tools/setup-kernel tools/setup-glibc tools/setup-guest tools/setup-packaging tools/private-apt.sh tools/in-root packaging/deb tests/packaging/*.sh .ci/run
	shellcheck --shell=dash kernel/guest/*.sh tools/pirn_tools/guest/*.sh
	cd tools && ../$(VENV)/ruff format --check --quiet . && ../$(VENV)/ruff check --quiet .
	$(VENV)/ruff format --check --quiet $(RUFF_REST) && $(VENV)/ruff check --quiet $(RUFF_REST)
	$(MYPY) pirn_tools checks/*.py ../packaging/*.py
	@set -e; for folder in $(TYPED); do $(MYPY) ../$$folder/*.py; done
	@status=0; for check in $(CHECKS); do \
	    $(VENV)/python tools/checks/$$check.py || status=1; \
	done; $(VENV)/python tools/pictures/graphs.py --check || status=1; \
	$(BOARD_LISTS) check || status=1; exit $$status

## lint-tidy: clang-tidy, shallow
lint-tidy:
	$(TIDY) --shallow

# Uses the clang build's compile commands, as they are now. Tests and benchmarks rely on the
# compilers' warnings instead.
TIDY = $(VENV)/python tools/checks/tidy.py --build build/clang --jobs $(JOBS)

## tidy: clang-tidy whose analyzer follows all paths and calls: before a release (10 minutes)
tidy: setup
	@cmake --preset clang > /dev/null
	$(TIDY)

## install: install libraries, headers, manual pages and the pirn command (PREFIX=/usr/local, DESTDIR)
install: setup build-release
	cmake --install build/release --prefix $(PREFIX)

## clean: remove the builds (not the virtual environment)
clean:
	rm -rf build
