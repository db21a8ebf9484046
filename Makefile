# make demo   real SIP calls through Tandem's session border controller, shown in a web page
# make test   every check and test of the house
# make lint   formatting and lints only
# Both do all set-up themselves and skip what is already done; the first line of each says what.
# No service of an installed package is started (policy-rc.d).

PACKAGES := bgpdump bird2 build-essential ca-certificates chromium clang curl dpdk-dev ethtool exabgp frr gobgpd \
	iperf3 iproute2 iputils-ping kamailio kamailio-tls-modules libusrsctp-dev libusrsctp-examples openbgpd \
	pmacct procps python3-scapy qemu-system-x86 sip-tester stayrtr traceroute tshark
CARGO := cargo
TANDEM = $(or $(CARGO_TARGET_DIR),target)/release/tandem

.PHONY: demo test lint setup console build clean
.DEFAULT_GOAL := build

setup:
	@missing=$$(for p in $(PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'install ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then echo "== setup: installing Debian packages:" $$missing; \
	  if [ "$$(id -u)" != 0 ]; then echo "run as root once, or install them by hand" >&2; exit 1; fi; \
	  policy=/usr/sbin/policy-rc.d; if [ ! -e $$policy ]; then \
	  printf '#!/bin/sh\nexit 101\n' >$$policy; chmod +x $$policy; trap "rm -f $$policy" EXIT; fi; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	  apt-get install -y -qq --no-install-recommends $$missing >/dev/null || exit 1; \
	else echo "== setup: Debian packages are there"; fi

console/node_modules/.package-lock.json: console/package-lock.json console/package.json
	@echo "== console: npm ci"
	@cd console && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

console/dist/index.html: console/node_modules/.package-lock.json console/index.html \
		$(shell find console/src console/public -type f 2>/dev/null) \
		$(wildcard console/*.ts console/*.json console/*.js)
	@echo "== console: build"
	@cd console && npm run --silent build
	@touch $@

console: setup console/dist/index.html

build: console
	@echo "== build: tandem (release)"
	@$(CARGO) build --release --quiet --package tandem

demo: build
	@echo "== demo: a site, SIPp on both sides, the console"
	@$(TANDEM) demo

lint: setup
	@echo "== lint: rustfmt and clippy"
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings

test: console lint
	@echo "== test: the console against its mock"
	@cd console && npm test --silent
	@echo "== test: the workspace"
	@$(CARGO) test --quiet --workspace --no-fail-fast
	@echo "== test: release mode (the compiler trap)"
	@$(CARGO) test --quiet --release --package tandem-machine
	@$(MAKE) --no-print-directory build
	@echo "== test: end to end, with SIPp, Chromium and the release binary"
	@$(CARGO) xtask end-to-end $(TANDEM)

clean:
	@$(CARGO) clean
	@rm -rf console/dist console/node_modules var
