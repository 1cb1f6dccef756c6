# The verbs of the project; CI calls the same ones. Each builds .venv first and is quiet unless it fails.
.PHONY: demo test lint fmt bench docs package clean
.DEFAULT_GOAL := test

# Recursive (=) on purpose: Python is only looked for when the environment has to be built.
PYTHON = $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
BIN := .venv/bin
WHEELS := build/wheel
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.venv/.stamp: pyproject.toml
	@py='$(PYTHON)'; test -n "$$py" || { echo 'make: Python 3.11 or newer is needed and none was found' >&2; exit 1; }; \
	test -x $(BIN)/python || "$$py" -m venv .venv
	@$(BIN)/python -m pip install -qq -e '.[dev]'
	@touch $@

demo: .venv/.stamp
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo.sh

# One worker more than cores: half of a test is waiting for the processes it has started.
test: .venv/.stamp
	@$(BIN)/python -m pytest -n "$$($(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)')" --dist worksteal

lint: .venv/.stamp
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/mypy --strict --no-error-summary src

fmt: .venv/.stamp
	@$(BIN)/ruff check -q --fix --exit-zero .
	@$(BIN)/ruff format -q .

bench: .venv/.stamp
	@$(BIN)/python -m tests.bench $(BENCH)

# Generated pages are written by docs/generate.py once there is one; then every relative link is followed.
docs: .venv/.stamp
	@if test -f docs/generate.py; then $(BIN)/python docs/generate.py; fi
	@$(BIN)/python -m pytest --no-header tests/test_doc_links.py

package: .venv/.stamp
	@rm -rf $(WHEELS)
	@$(BIN)/python -m pip wheel -qq --no-deps --no-build-isolation -w $(WHEELS) .
	@$(BIN)/python -m zipfile -l $(WHEELS)/*.whl > $(WHEELS)/contents
	@for part in share/man/man1/git-coord.1 git_coord/githooks/; do grep -qF "$$part" $(WHEELS)/contents \
		|| { echo "make: the wheel lacks $$part" >&2; exit 1; }; done
	@mkdir -p dist && cp $(WHEELS)/*.whl dist/ && ls dist/*.whl

clean:
	@rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -prune -exec rm -rf {} +
