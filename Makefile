# One target per thing that a person wants. Everything local is in .venv/ (environment) and .lakehouse/ (state).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help env env-browser wheel run port dev test timings mutate soak clouds fast coverage check docs bench clean

BIN := .venv/bin
PORT ?= 3000
# Tests and runs start many processes of ours: where nothing may be kept compiled, each costs a CPU second more.
unexport PYTHONDONTWRITEBYTECODE
# Four processes for two cores: some of them wait, for a browser, a connector or a killed run.
TEST := $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 $(if $(ORDER),--order=$(ORDER))
# What needs no server; and of that, what takes milliseconds.
SERVERS := slow or browser or kill or rest or kafka or spark
FAST := $(BIN)/pytest -n 2 --max-worker-restart 0 $(if $(ORDER),--order=$(ORDER))

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-8s %s\n", $$1, $$2 }'

env: ## Environment and JARs, as locked
	@bin/bootstrap

env-browser:
	@bin/bootstrap --browser

wheel: env ## The wheel, in .lakehouse/dist
	@rm -rf .lakehouse/build .lakehouse/dist
	@$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation -w .lakehouse/dist .
	@ls .lakehouse/dist/*.whl

run: env ## Load the demo, materialize everything, report
	@$(BIN)/lakehouse run

# Before minutes of installing. Where another `lakehouse dev` of this folder listens, that one says so better.
port:
	@if (exec 3<>/dev/tcp/127.0.0.1/$(PORT)) 2>/dev/null && [[ ! -e $${LAKEHOUSE_HOME:-.lakehouse}/dagster/alive/dev.lock ]]; then \
		echo "error: Port $(PORT) is taken. Remedy: choose another: make dev PORT=N" >&2; exit 2; fi

dev: port env ## Broker, Spark Connect and the Dagster UI (PORT=3000) with sensors; Ctrl-C stops what it started
	@$(BIN)/lakehouse dev --port $(PORT)

test: env-browser ## All tests (ORDER=reverse or ORDER=shuffle:7 for another order)
	@$(TEST)

timings: env-browser ## All tests, and where their time goes
	@rm -rf .lakehouse/timings
	@$(TEST) --timings=.lakehouse/timings || failed=$$?; \
	$(BIN)/python -m lakehouse_tests.timings; exit $${failed:-0}

mutate: env ## Break each mechanism that keeps a promise: a test has to fail (NAME="seal digest" for one)
	@$(BIN)/python -m lakehouse_tests.mechanisms $(if $(NAME),"$(NAME)")

soak: env-browser ## The long forms of tests, then mutate
	@$(BIN)/pytest -m soak
	@$(BIN)/python -m lakehouse_tests.mechanisms

# Of no environment of ours: adlfs is of the extra azure, and node and Go are of no other test.
EMULATORS := .lakehouse/emulators
clouds: env ## Stores of Azure and Google, emulated, and SeaweedFS with its STS (needs node, Go; builds for minutes)
	@mkdir -p $(EMULATORS)
	@cp lakehouse_tests/fixtures/emulators/package*.json $(EMULATORS)/
	@cd $(EMULATORS) && npm ci --silent --no-audit --no-fund --ignore-scripts
	@GOBIN=$(CURDIR)/$(EMULATORS)/bin go install github.com/fsouza/fake-gcs-server@v1.55.1
	@mkdir -p $(EMULATORS)/seaweedfs
	@cp lakehouse_tests/fixtures/emulators/seaweedfs/go.* $(EMULATORS)/seaweedfs/
	@cd $(EMULATORS)/seaweedfs && go build -o ../bin/weed github.com/seaweedfs/seaweedfs/weed
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes --upgrade \
		--target $(EMULATORS)/python -r lakehouse_tests/fixtures/emulators/requirements.lock
	@PYTHONPATH=$(CURDIR)/$(EMULATORS)/python $(BIN)/pytest -m clouds

fast: env ## The inner loop: what takes milliseconds, and one ingest through real Kafka and Spark
	@$(FAST) --dist loadfile -m "fast or not (soak or seconds or $(SERVERS))"

coverage: env ## What needs no server, measured: the share of lines and branches that it runs may not fall
	@$(FAST) -m "not soak and not ($(SERVERS))" --quiet --cov --cov-report=term

check: env docs ## Lint, format, types, layers, locks, pages
	@$(BIN)/ruff check --no-cache
	@$(BIN)/ruff format --check --no-cache
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports
	@if grep -nE 'https?://' requirements.lock $$(git ls-files '*jars.sha256'); then echo "A lock names an address."; exit 1; fi

docs: env ## The pages as a site in .lakehouse/site, without a warning
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: env ## Ours against its peers: ingest, changes, mirrors, rules; and what looking after tables costs
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.changes
	@$(BIN)/python -m benchmarks.mirror
	@$(BIN)/python -m benchmarks.rules
	@$(BIN)/python -m benchmarks.upkeep

clean: ## Remove all state: tables, topics, runs (YES=1)
	@bin/clean $(if $(filter 1,$(YES)),--yes)
