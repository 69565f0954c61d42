#!/bin/sh
# Runs as root in the container that becomes a layer on top of an agents'
# system. $1 is the folder of the build's own files, which never reach the image;
# $2 is the folder for the command line. What is installed is in files, one word
# a line, so that nothing of it is ever a part of this script.
set -euf
work=$1
dir=$2
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME="$work" TMPDIR="$work"
export PATH=/opt/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=/dev/null
. "$work/env" # where packages come from

if [ -f "$work/apt" ]; then
	export APT_CONFIG="$work/apt.conf"
	cat >"$APT_CONFIG" <<'END'
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
END
	if [ -f "$work/ca.crt" ]; then
		echo "Acquire::https::CaInfo \"$work/ca.crt\";" >>"$APT_CONFIG"
	fi
	if [ -f "$work/sources.list" ]; then
		echo "Dir::Etc::SourceList \"$work/sources.list\"; Dir::Etc::SourceParts \"/dev/null\";" >>"$APT_CONFIG"
	fi
	apt-get -q -y update
	# shellcheck disable=SC2046
	apt-get -q -y install -- $(cat "$work/apt")
	unset APT_CONFIG
fi

if [ -f "$work/npm" ]; then
	mkdir -p "$dir"
	scripts=--ignore-scripts
	if [ -f "$work/npm-scripts" ]; then
		scripts=--foreground-scripts
	fi
	# shellcheck disable=SC2046
	node "$work/npm-cli/bin/npm-cli.js" install --prefix "$dir" --cache "$work/npm-cache" "$scripts" \
		--no-audit --no-fund --no-update-notifier --no-package-lock --omit=dev --save-exact -- $(cat "$work/npm")
	rm -f "$dir/node_modules/.package-lock.json" # names the registry
fi

if [ -f "$work/pip" ]; then
	python3 -m venv --without-pip "$dir"
	set --
	if [ -f "$work/pip-pinned" ]; then
		set -- --require-hashes --no-deps --only-binary=:all:
	fi
	python3 -m pip --python "$dir/bin/python3" install --no-cache-dir --no-compile --no-input \
		--disable-pip-version-check --root-user-action=ignore --index-url "$pip_index" "$@" -r "$work/pip"
	# Nothing can be compiled later, on a read-only root.
	python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash "$dir/lib" || true
fi

if [ -f "$work/run" ]; then
	cd /
	sh -eu "$work/run"
fi

set +f
rm -rf /var/cache/apt/* /var/lib/apt/lists/* /var/log/* /var/tmp/* /root/.npm /root/.cache
if [ -e /home/agent ]; then
	echo 'the steps made a /home/agent, which must not exist' >&2
	exit 1
fi
if [ -f "$work/pip" ]; then
	python3 -m pip --python "$dir/bin/python3" list --format freeze --disable-pip-version-check |
		sed 's/^/pip:/; s/==/=/' >"$work/added"
fi
