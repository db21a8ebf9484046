# make demo   SIP calls through Tandem's session border controller, shown in a web page;
#             SCENE=rr plays another scene; `tandem demo` lists them
# make test   every check and test of the house
# make package   a Debian package and an OCI image in target/package
# make lint   formatting, lints, licences and sources of what Tandem depends on
# make deny   the same of dependencies and known vulnerabilities, by cargo-deny
# make fuzz   every fuzz target under libFuzzer, SECONDS=60 each; TARGETS="a b" chooses
# make test-long   what takes longer than a test should: a million changed findings of each
#             fuzz target, and the end-to-end run with the release binary
# Both do all set-up themselves and skip what is already done; the first line of each says what.
# No service of an installed package is started (policy-rc.d).

# A build needs Rust, Node.js and a C compiler with its linker; the demo's calls need SIPp.
BUILD_PACKAGES := build-essential
DEMO_PACKAGES := sip-tester
# What looks at packages and images, and runs them; the demo's calls are played from the package.
PACKAGE_PACKAGES := crun lintian podman skopeo
# What tests hold Tandem against, and what they look at it with.
TEST_PACKAGES := baresip-core bgpdump bird2 ca-certificates chromium clang curl dpdk-dev ethtool \
	exabgp ffmpeg freediameter-extensions freediameterd frr gir1.2-gst-plugins-bad-1.0 gobgpd \
	gstreamer1.0-nice gstreamer1.0-plugins-bad gstreamer1.0-plugins-good iperf3 iproute2 iputils-ping \
	kamailio kamailio-ims-modules kamailio-presence-modules kamailio-tls-modules libspandsp2 \
	libsrtp2-1 libusrsctp-dev libusrsctp-examples llvm maven openbgpd openjdk-17-jdk-headless openssl \
	pmacct procps prometheus python3-aiortc python3-cryptography python3-gst-1.0 python3-pip \
	python3-pylibsrtp python3-scapy qemu-system-x86 rtpengine-daemon stayrtr systemd traceroute tshark
# What PyPI has and Debian has not, where tests look for it.
PYTHON_PEERS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tandem/python
PYCRATE := 0.8.1
GSMCODECS := 1.0.0
PYTHON_DIAMETER := 0.9.0
CASSANDRA_DRIVER := 3.30.1
CARGO := cargo
TARGET = $(or $(CARGO_TARGET_DIR),target)
TANDEM = $(TARGET)/release/tandem

SCENE := sbc
SECONDS := 60
TARGETS :=

# The peers that are packages of Python; nothing of the system's own is touched.
setup-python: setup
	@for peer in pycrate==$(PYCRATE) gsmcodecs==$(GSMCODECS) python_diameter==$(PYTHON_DIAMETER) \
	  cassandra_driver==$(CASSANDRA_DRIVER); do \
	  if [ -e $(PYTHON_PEERS)/$$(echo $$peer | sed s/==/-/).dist-info ]; then \
	  echo "== setup: $$peer is there"; else echo "== setup: $$peer"; \
	  /usr/bin/python3 -m pip install --quiet --disable-pip-version-check \
	  --root-user-action=ignore --no-deps --upgrade --target $(PYTHON_PEERS) $$peer || exit 1; \
	  fi; done

.PHONY: demo package test test-long lint deny fuzz setup setup-python setup-build setup-demo setup-package console build clean
.DEFAULT_GOAL := build

setup: PACKAGES = $(BUILD_PACKAGES) $(DEMO_PACKAGES) $(PACKAGE_PACKAGES) $(TEST_PACKAGES)
setup-build: PACKAGES = $(BUILD_PACKAGES)
setup-demo: PACKAGES = $(BUILD_PACKAGES) $(DEMO_PACKAGES)
setup-package: PACKAGES = $(BUILD_PACKAGES) $(DEMO_PACKAGES) $(PACKAGE_PACKAGES)

setup setup-build setup-demo setup-package:
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

console: console/dist/index.html

build: setup-build console
	@echo "== build: tandem (release)"
	@$(CARGO) build --release --quiet --package tandem

# Built with a profile of its own, which takes about half the time of a release build.
demo: setup-demo console
	@echo "== build: tandem (profile demo); some minutes, once"
	@$(CARGO) build --profile demo --package tandem
	@echo "== demo: the scene $(SCENE); make demo SCENE=rr plays another; tandem demo lists them"
	@$(TARGET)/demo/tandem demo $(SCENE)

package: setup-package console
	@$(CARGO) xtask package
	@echo "== package: lintian, dpkg and podman try them"
	@$(CARGO) xtask installed target/package

lint: setup
	@echo "== lint: rustfmt and clippy"
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	@echo "== lint: licences, sources and bans of dependencies"
	@$(CARGO) test --quiet --package xtask --test dependencies
	@if command -v cargo-deny >/dev/null; then $(MAKE) --no-print-directory deny; \
	else echo "== lint: cargo-deny is not installed; make deny installs it and looks for advisories"; fi

target/tools/bin/cargo-deny:
	@echo "== deny: building cargo-deny, once"
	@$(CARGO) install --quiet --locked --root target/tools cargo-deny

# Advisories need a network that reaches the database; all else does not.
deny: $(if $(shell command -v cargo-deny),,target/tools/bin/cargo-deny)
	@echo "== deny: bans, licences and sources"
	@PATH="$(CURDIR)/target/tools/bin:$$PATH" cargo-deny --all-features check bans licenses sources
	@if PATH="$(CURDIR)/target/tools/bin:$$PATH" cargo-deny fetch db 2>/dev/null; then \
	echo "== deny: advisories"; PATH="$(CURDIR)/target/tools/bin:$$PATH" cargo-deny check advisories; \
	else echo "== deny: the database of advisories is out of reach; not looked at"; fi

fuzz: setup
	@$(CARGO) xtask fuzz --seconds $(SECONDS) $(TARGETS)

# Set-up of the peers, lints and the end-to-end run stand beside what waits (xtask/src/test).
test: setup-build console
	@echo "== test: rustfmt"
	@$(CARGO) fmt --all --check
	@$(CARGO) xtask test

test-long: setup console
	@echo "== test-long: findings with octets changed, a million of each target"
	@TANDEM_MUTATIONS=1000000 $(CARGO) test --quiet --release --package tandem-fuzz
	@$(MAKE) --no-print-directory build
	@echo "== test-long: end to end, with the release binary"
	@$(CARGO) xtask end-to-end $(TANDEM)

clean:
	@$(CARGO) clean
	@rm -rf console/dist console/node_modules var
