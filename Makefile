# Targets for people; `make help` lists them.

GO       ?= go
BIN      := bin/cabra-run
RELAYS   := images/relay/relay-linux-amd64 images/relay/relay-linux-arm64
RELAYSRC := $(shell find sandbox/relay -name '*.go' -not -name '*_test.go' 2>/dev/null)
SOURCES  := $(shell find . -name '*.go' -not -path './.git/*') $(shell find images runner sandbox tasks -type f -not -name '*.go' 2>/dev/null)
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
export CGO_ENABLED := 0

.DEFAULT_GOAL := build

.PHONY: help build run test unit torture bench fmt vet setup clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: $(BIN) ## build bin/cabra-run (static, relay inside)

images/relay/relay-linux-%: $(RELAYSRC) go.mod go.sum
	GOOS=linux GOARCH=$* $(GO) build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o $@ ./sandbox/relay/cabra-relay

$(BIN): $(RELAYS) $(SOURCES) go.mod go.sum Makefile
	$(GO) build -trimpath -buildvcs=false -ldflags='-s -w -X main.version=$(VERSION)' -o $@ ./cmd/cabra-run

setup: build ## install or start what is missing (engine, images), saying so line by line
	@$(BIN) doctor --fix

run: setup ## set up, then run the demo sweep: real Copilot CLI, scripted model, no key, no cost
	$(BIN) --agent copilot --model scripted --grid smoke

test: setup ## set up, then run every test on real parts
	CABRA_TEST_REAL=1 $(GO) test -timeout 40m ./...

unit: $(RELAYS) ## the tests that need no engine
	$(GO) test ./...

# More rounds: make torture ROUNDS=3
ROUNDS ?= 1
torture: setup ## the long forms: kills, faults, hostile agents, every agent's real CLI; each prints its counts
	CABRA_TEST_REAL=1 CABRA_TEST_TORTURE=$(ROUNDS) $(GO) test -v -timeout 2h ./runner -run 'Killed|StorageFails'
	CABRA_TEST_REAL=1 CABRA_TEST_TORTURE=$(ROUNDS) $(GO) test -v -timeout 2h ./cmd/cabra-run -run 'TestRealKilledAnywhere|TestRealPaused'
	CABRA_TEST_REAL=1 CABRA_TEST_TORTURE=$(ROUNDS) $(GO) test -v -timeout 2h -p 1 ./sandbox/faulttest ./runner/enginefault
	CABRA_TEST_REAL=1 CABRA_TEST_TORTURE=$(ROUNDS) $(GO) test -v -timeout 4h ./runner/hostile
	CABRA_TEST_REAL=1 CABRA_TEST_TORTURE=$(ROUNDS) $(GO) test -v -timeout 6h ./runner/suite

bench: build ## the benchmarks (engine needed)
	CABRA_TEST_REAL=1 $(GO) test -run '^$$' -bench . -benchtime 5x ./tasks/... ./sandbox/... ./runner/...

fmt: ## format the code
	gofmt -w $(shell git ls-files '*.go')

vet: $(RELAYS) ## vet and check the format
	$(GO) vet ./...
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }

clean: ## remove what was built (not the runs, not the images)
	rm -rf bin $(RELAYS)
