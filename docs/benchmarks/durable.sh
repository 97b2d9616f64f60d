# shellcheck shell=sh
# Parts of run.sh about the log; sourced by it.

# durable NAME ARGUMENT...: runs the driver once on a newly loaded file.
durable() {
  name=$1
  shift
  tpcc "$name" --path "$out/durability.fovea" "$@"
  rm -f "$out/durability.fovea" "$out/durability.fovea.log" "$out/durability.fovea.dwb"
}

do_durability_once() {
  WARMUP=${WARMUP:-5}
  # Runs whose ratio is taken are adjacent, as the machine's speed drifts.
  durable "durability-2w2t-none-$1" --durability none --warehouses 2 --threads 2
  durable "durability-2w2t-sync-16-clients-$1" --durability sync --warehouses 2 --threads 2 \
    --clients 16
  durable "durability-2w2t-async-$1" --durability async --warehouses 2 --threads 2
  durable "durability-2w2t-sync-$1" --durability sync --warehouses 2 --threads 2
  [ -z "$quick" ] || return 0 # the others differ only in numbers
  durable "durability-2w2t-sync-4-clients-$1" --durability sync --warehouses 2 --threads 2 --clients 4
  durable "durability-2w2t-none-16-virtual-$1" --durability none --warehouses 2 --threads 2 \
    --clients 16 --virtual
  durable "durability-2w2t-sync-16-virtual-$1" --durability sync --warehouses 2 --threads 2 \
    --clients 16 --virtual
  durable "durability-1w1t-none-$1" --durability none --warehouses 1 --threads 1
  durable "durability-1w1t-sync-16-clients-$1" --durability sync --warehouses 1 --threads 1 \
    --clients 16
}

do_recovery_once() {
  name=recovery-$1
  replay=${quick:+32m}
  replay=${replay:-1g}
  say "$name: tpcc.sh recover-bench"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" recover-bench --path "$out/recovery.fovea" --warehouses 2 \
    --threads 2 --replay "$replay" --json "$out/$name.recovery.json" \
    >"$out/$name.txt" 2>&1 || say "$name ended with $?: see $out/$name.txt"
  rm -f "$out/recovery.fovea" "$out/recovery.fovea.log" "$out/recovery.fovea.dwb"
}

# Durable clients in slices of one run, each with separate threads. Then TPC-C without a log and with 64 clients that wait for
# it: as whole runs, for latencies and threads; and in slices, for ratios, also with only the clients or only the log added.
do_clients() {
  say clients
  mkdir -p "$out/clients"
  printed clients "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.jmh.DurableClients "$out/clients" \
    ${quick:+50 3}
  rm -rf "$out/clients"
  in_turn do_clients_once
  same="--warehouses 2 --threads 2 --buffer 2g" # four of them at once
  fresh=1
  SLICE=${SLICE:-0.4}
  compare clients-apart 8 10 "none, 2 clients" "--path none.fovea $same --durability none" \
    "none, 64 clients" "--path none-64.fovea $same --durability none --clients 64" \
    "async, 2 clients" "--path async.fovea $same --durability async" \
    "sync, 64 clients" "--path sync-64.fovea $same --durability sync --clients 64"
  fresh=
}

do_clients_once() {
  durable "clients-2w2t-none-$1" --durability none --warehouses 2 --threads 2
  durable "clients-2w2t-sync-64-$1" --durability sync --warehouses 2 --threads 2 --clients 64
}
