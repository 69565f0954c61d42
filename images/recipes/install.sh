#!/bin/sh
# Runs as root in the container that becomes a system. $1 is the folder of the
# build's own files, which never reach the image.
set -eu
work=$1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin

# Nothing of this container survives a crash, so dpkg need not wait for the disk.
cat >/etc/dpkg/dpkg.cfg.d/cabra-build <<'END'
force-unsafe-io
path-exclude /usr/share/doc/*
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
END
# No service may start, and none is there to be started.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 0755 /usr/sbin/policy-rc.d

export APT_CONFIG="$work/apt.conf"
cat >"$APT_CONFIG" <<'END'
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
END
if [ -f "$work/ca.crt" ]; then
	echo "Acquire::https::CaInfo \"$work/ca.crt\";" >>"$APT_CONFIG"
fi
if [ -f "$work/sources.list" ]; then # else the base's own sources are used
	echo "Dir::Etc::SourceList \"$work/sources.list\"; Dir::Etc::SourceParts \"/dev/null\";" >>"$APT_CONFIG"
fi
apt-get -q -y update
# shellcheck disable=SC2046
apt-get -q -y install $(cat "$work/packages")
rm -f /etc/dpkg/dpkg.cfg.d/cabra-build /usr/sbin/policy-rc.d

# Bootstrapped systems name the mirror that they came from; the image names Debian's.
if [ -f "$work/image-sources.list" ]; then
	cp "$work/image-sources.list" /etc/apt/sources.list
fi
for file in passwd group; do
	# A base that is an image of ours has these accounts already.
	awk -F: 'NR == FNR { has[$1] = 1; next } !($1 in has)' "/etc/$file" "$work/$file" >"$work/new"
	cat "$work/new" >>"/etc/$file"
done
mkdir -p -m 0755 /workspace
chmod 0755 /workspace
ln -sf /usr/share/zoneinfo/Etc/UTC /etc/localtime
echo Etc/UTC >/etc/timezone
if [ -f "$work/keep-ca.crt" ] && [ -d /etc/ssl/certs ]; then
	cp "$work/keep-ca.crt" /etc/ssl/certs/ca-certificates.crt
fi
if [ -e /home/agent ]; then
	echo 'the base image has a /home/agent, which must not exist' >&2
	exit 1
fi
dpkg-query -W -f '${Package}=${Version}\n' | sort >"$work/installed"
