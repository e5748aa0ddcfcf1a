# Each target sets up what it needs. `make` alone lists them.
PYTHON ?= python3
PORT ?= 8080
DATA ?= evaluation_sets/everyday.jsonl
SMALL_MODEL := build/smollm2-135m-instruct-q8_0
BIN := .venv/bin
UV_COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help setup demo up down serve evaluate playground test check synth bench lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

setup: ## virtual environments, llama.cpp (compiled once) and the cdk command line
	@$(PYTHON) local/setup.py

demo: setup ## deploy to the emulator, ask it for decisions, take it down again
	@$(BIN)/python -m local demo

up: setup ## deploy to the emulator and keep it running
	@$(BIN)/python -m local up

down: setup ## destroy what `make up` deployed and stop the emulator
	@$(BIN)/python -m local down

serve: ## the scoring server on 127.0.0.1 without AWS: make serve MODEL=<gguf or model folder> [PORT=8080]
	@test -n "$(MODEL)" || { echo "serve: MODEL is not set. Remedy: make serve MODEL=path/to/model.gguf [PORT=8080]" >&2; exit 2; }
	@$(PYTHON) local/setup.py --runtime-only
	@DECISION_MODEL_PATH="$(MODEL)" DECISION_HOST=127.0.0.1 DECISION_PORT="$(PORT)" exec $(BIN)/python container/serve

evaluate: MODEL ?= $(SMALL_MODEL)
evaluate: ## a model on labelled decisions by every readout: make evaluate [DATA=<jsonl or csv>] [MODEL=<gguf or model folder>]
	@$(PYTHON) local/setup.py --runtime-only
	@test "$(MODEL)" != "$(SMALL_MODEL)" || $(MAKE) --no-print-directory $(SMALL_MODEL)/manifest.json
	@$(BIN)/python -m client readouts --data "$(DATA)" --model "$(MODEL)" \
	  --out "build/evaluation/$(basename $(notdir $(DATA)))-$(notdir $(patsubst %/,%,$(MODEL:.gguf=)))"

playground: MODEL ?= $(SMALL_MODEL)
playground: ## a page in your browser to try decisions by hand: make playground [MODEL=<gguf or model folder>]
	@$(PYTHON) local/setup.py --runtime-only
	@test "$(MODEL)" != "$(SMALL_MODEL)" || $(MAKE) --no-print-directory $(SMALL_MODEL)/manifest.json
	@exec $(BIN)/python -m client playground --model "$(MODEL)"

# The demo's model, made as the demo makes it: the same bytes.
$(SMALL_MODEL)/manifest.json: model_packaging/declarations/smollm2-135m-instruct-q8_0.toml
	@$(BIN)/python -m model_packaging build $< --output $(SMALL_MODEL)-archive >/dev/null
	@mkdir -p $(SMALL_MODEL)
	@tar -xzmf $(SMALL_MODEL)-archive/model.tar.gz -C $(SMALL_MODEL)

test: setup check ## all checks and all tests
	@$(BIN)/python -m pytest

check: setup ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

synth: setup ## the CloudFormation templates of an environment: make synth ENV=dev
	@PATH="$(CURDIR)/$(BIN):$$PATH" node_modules/.bin/cdk synth --quiet -c env=$(or $(ENV),dev)

bench: ## this project against its peers, about 12 minutes on quiet cores: make bench [ARGS=--quick]
	@$(PYTHON) local/setup.py --benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

lock: setup ## write the *.txt lock files anew from the *.in files
	$(UV_COMPILE) requirements-dev.in -o requirements-dev.txt
	$(UV_COMPILE) -c requirements-dev.txt requirements.in -o requirements.txt
	$(UV_COMPILE) -c requirements-dev.txt container/requirements.in -o container/requirements.txt
	$(UV_COMPILE) -c requirements-dev.txt container/requirements-build.in -o container/requirements-build.txt
	$(UV_COMPILE) -c requirements-dev.txt container/requirements-build.in -o model_packaging/requirements-build.txt
	$(UV_COMPILE) -c requirements-dev.txt client/requirements.in -o client/requirements.txt
	$(UV_COMPILE) -c requirements-dev.txt client/requirements-evaluation.in -o client/requirements-evaluation.txt
	$(UV_COMPILE) -c requirements-dev.txt model_packaging/requirements.in -o model_packaging/requirements.txt
	$(UV_COMPILE) -c requirements-dev.txt model_packaging/requirements-quantize.in -o model_packaging/requirements-quantize.txt
	$(UV_COMPILE) local/requirements.in -o local/requirements.txt
	$(UV_COMPILE) -c requirements-dev.txt benchmarks/requirements.in -o benchmarks/requirements.txt
	$(UV_COMPILE) -c requirements-dev.txt benchmarks/requirements-transformers.in -o benchmarks/requirements-transformers.txt
	$(UV_COMPILE) local/bootstrap-requirements.in -o local/bootstrap-requirements.txt

clean: ## remove the environments and caches of this checkout
	rm -rf .venv .venv-emulator .venv-bench .cache node_modules cdk.out build
