#!/bin/sh
# Checks the files of tools/operations with third-party tools: 'promtool' tests the alert rules and
# parses the metrics of a running server, 'systemd-analyze' rates the unit file, and
# check_proxies.py runs the unit's server behind nginx and Caddy. The tools are in the Debian
# packages prometheus, systemd, nginx and caddy; a check whose tool is missing is skipped with a
# message.
set -eu
cd "$(dirname "$0")/../.."
fpstore=${FPSTORE_BIN:-$PWD/target/debug/fpstore}

folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT

if command -v promtool >/dev/null; then
    promtool check rules tools/operations/alerts.yml
    promtool test rules tools/operations/alerts_test.yml
    "$fpstore" build tests/data/tang_store.tsv.zst -s "$folder/store.fps" --quiet
    "$fpstore" serve -s "$folder/store.fps" --listen "unix:$folder/socket" --quiet &
    server=$!
    until curl -sf --unix-socket "$folder/socket" http://localhost/readyz >/dev/null; do sleep 0.1; done
    curl -s --unix-socket "$folder/socket" http://localhost/metrics >"$folder/first"
    curl -s --unix-socket "$folder/socket" http://localhost/metrics | promtool check metrics
    echo "metrics: valid for Prometheus"
else
    echo "promtool is not installed: alert rules and metrics were not tested"
fi

if command -v systemd-analyze >/dev/null; then
    rated=$(systemd-analyze security --offline=yes tools/operations/fpstore.service |
        sed -n 's/.*Overall exposure level.*: \([0-9.]*\).*/\1/p')
    echo "unit file: exposure $rated of 10"
    awk -v rated="$rated" 'BEGIN { exit !(rated != "" && rated < 3) }'
else
    echo "systemd-analyze is not installed: the unit file was not rated"
fi

python3 -B tools/checks/check_proxies.py "$fpstore"
