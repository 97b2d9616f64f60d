# shellcheck shell=sh
# Parts of run.sh for the experiments of the FPSketch dissertation; sourced by it.
#
# A cell is one protocol, timestamp store, workload and number of threads, measured for 3 s after a warm-up of one.
# Each protocol and store has a separate JVM in each round, in which the workloads run one after the other on one
# database. THREADS sets the numbers of threads, PAIRS the protocols and stores:
# THREADS=2,16,64 PAIRS=sto+disk,mvto+disk-cache run.sh fig3.2

# The pairs that the dissertation's conclusions are about.
pairs=tictoc+disk,tictoc+disk-cache,tictoc+memory,tictoc+focus-counter,tictoc+focus-sketch,sto+memory,sto+focus-sketch
pairs=${PAIRS:-$pairs,mvto+memory,mvto+focus-sketch,two-phase-locking+-,occ+-,silo+-}
# On fast storage; without MVTO, as in the dissertation.
fast=${PAIRS:-tictoc+disk,tictoc+memory,tictoc+focus-sketch,sto+memory,sto+focus-sketch,two-phase-locking+-,occ+-}
names=tictoc=TicToc,sto=STO,mvto=MVTO,two-phase-locking=2PL,occ=OCC,silo=Silo
small=write-intensive-high,write-intensive-medium,read-intensive-high,read-intensive-medium
mixed=mixed-high,mixed-medium

# cells NAME WARMUP ARGUMENT...: runs a command of the driver with all combinations of the varied options.
cells() {
  name=$1
  warmup=$(seconds "$2" 0.2)
  shift 2
  say "$name: tpcc.sh sweep $*"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" sweep --rounds "$rounds" --out "$out/$name" "$@" \
    --duration "$(seconds 3 0.3)s" --warmup "${warmup}s" >"$out/$name.txt" 2>&1 ||
    say "$name ended with $?: see $out/$name.txt"
}

# drawn NAME TITLE ARGUMENT...: makes tables and plots of the results of cells.
drawn() {
  name=$1
  title=$2
  shift 2
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" figure "$out/$name/sweep.json" --out "$out/$name" \
    --title "$title" --name "$names" "$@" >>"$out/$name.txt" 2>&1 ||
    say "no figure of $name: see $out/$name.txt"
  cat "$out/$name.md"
}

# ycsb NAME TITLE WARMUP PAIRS WORKLOADS ARGUMENT...: runs YCSB with each of the pairs, relative to TicToc with Focus-Sketch.
ycsb() {
  name=$1
  title=$2
  warm=$3
  which=$4
  loads=$5
  shift 5
  cells "$name" "$warm" --vary "protocol+timestamps=$which" --then "workload=$loads" --then "threads=${THREADS:-16}" \
    ycsb run "$@"
  drawn "$name" "$title" --over protocol,timestamps --series workload --each threads \
    --ratio-to protocol=tictoc,timestamps=focus-sketch
}

# tpcc_by NAME TITLE PAIRS ARGUMENT...: runs New-Order and Payment. Each cell has a separate JVM, which needs a warm-up.
tpcc_by() {
  name=$1
  title=$2
  which=$3
  shift 3
  few=${WAREHOUSES:-${quick:+1}}
  cells "$name" 3 --vary "warehouses=${few:-1,2}" --vary "protocol+timestamps=$which" \
    run --io memory --mix half --threads 16 "$@"
  drawn "$name" "$title" --over protocol,timestamps --series warehouses --ratio-to protocol=tictoc,timestamps=focus-sketch
}

# memory_ycsb NAME TITLE WARMUP WORKLOADS: runs YCSB with all records in memory.
memory_ycsb() {
  many=${quick:+10000}
  ycsb "$1" "$2" "$3" "$pairs" "$4" --io memory --records "${many:-200000}"
}

do_fig32() {
  memory_ycsb fig-3.2 "Small transactions (figure 3.2)" 1 "$small"
}

do_fig33() {
  memory_ycsb fig-3.3 "Mixed transactions (figure 3.3)" 1 "$mixed"
}

# One workload, so the JVM is cold and needs a longer warm-up; in figure 4.11 too.
do_fig34() {
  memory_ycsb fig-3.4 "Long transactions (figure 3.4)" 3 long
}

# Timestamps on disk compared with Focus-Sketch, by the size of the pool. Timestamps on disk use an eighth of the pool, in
# which each of the 8 threads needs some frames: hence the number of records. They are loaded with all of them in memory, and
# not checked after each run, as both take longest with such a pool.
do_fig35() {
  many=${quick:+100000}
  sizes=${quick:+20%,80%}
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" ycsb load --path "$out/y.fovea" --durability none --records "${many:-500000}" \
    --workload read-intensive-high --threads 2 --buffer 512m >"$out/fig-3.5-load.txt" 2>&1 ||
    die "the load ended with $?: see $out/fig-3.5-load.txt"
  cells fig-3.5 1 --vary "pool=${sizes:-5%,10%,20%,40%,80%}" --vary timestamps=disk,focus-sketch \
    --then workload=read-intensive-high,read-intensive-medium --then threads=8 \
    ycsb run --path "$out/y.fovea" --durability none --records "${many:-500000}" --no-check
  drawn fig-3.5 "TicToc with timestamps on disk relative to Focus-Sketch, by the size of the pool (figure 3.5)" \
    --over pool --series timestamps --each workload --ratio-to timestamps=focus-sketch
  rm -f "$out"/y.fovea*
}

do_fig36() {
  many=${quick:+10000}
  cells fig-3.6 1 \
    --vary timestamps+sketch-bytes=disk-cache+8k,disk-cache+32k,disk-cache+128k,disk-cache+512k,disk-cache+2m,focus-sketch+- \
    --then workload=read-intensive-high,read-intensive-medium --then "threads=${THREADS:-16}" \
    ycsb run --io memory --records "${many:-200000}"
  drawn fig-3.6 "TicToc with Disk-Cache, by its size, relative to Focus-Sketch (figure 3.6)" \
    --over sketch-bytes --series workload --each threads --ratio-to timestamps=focus-sketch,sketch-bytes=-
}

do_fig37() {
  tpcc_by fig-3.7 "TPC-C, New-Order and Payment, 16 threads (figure 3.7)" "$pairs"
}

# With 55 % of the keys in the exact table, and with 5 %.
do_fig38() {
  sizes=
  for protocol in tictoc sto; do
    for size in 256 1k 4k 32k; do
      sizes=$sizes$protocol+focus-sketch+$size,
    done
    sizes=$sizes$protocol+memory+-,
  done
  few=${quick:+1000}
  many=${quick:+4000}
  cells fig-3.8 1 --vary "records=${few:-30000},${many:-300000}" \
    --vary "protocol+timestamps+sketch-bytes=${sizes%,}" \
    --then workload=read-intensive-high,write-intensive-high --then "threads=${THREADS:-16}" ycsb run --io memory
  drawn fig-3.8 "Goodput by the size of the sketch, relative to Memory (figure 3.8)" \
    --over sketch-bytes --series protocol,records --each workload,threads --ratio-to timestamps=memory,sketch-bytes=-
}

# At equal sums of the exact table and the sketch or cache, where the exact table has less than 1 % of the keys: 16,384
# entries in 512 KiB, 1,024 in 32 KiB. Immediate eviction is the paper's rule, under which no part of the exact table is a
# cache. A cache and the exact table are one table, whose size is a power of two.
do_equal() {
  do_equal_544k 16
  do_equal_544k 2
  do_equal_64k
  do_equal_tenth
}

sketch="--timestamps focus-sketch --active-timestamp-bytes"
counter="--timestamps focus-counter --active-timestamp-bytes"
cache="--timestamps disk-cache --active-timestamp-bytes"

# do_equal_544k THREADS
do_equal_544k() {
  many=${quick:+20000}
  equal_slices "equal-544k-${1}t" "--io memory --records ${many:-2000000} --threads $1" \
    Memory "--timestamps memory" \
    "Focus-Sketch 512k + 32k" "$sketch 512k --sketch-bytes 32k" \
    "Focus-Sketch 32k + 512k" "$sketch 32k --sketch-bytes 512k" \
    "Focus-Sketch 32k + 512k, evicted at once" "$sketch 32k --sketch-bytes 512k --evict-immediately" \
    "Focus-Counter 128k + 384k" "$counter 128k --sketch-bytes 384k" \
    "Disk-Cache 128k + 384k" "$cache 128k --sketch-bytes 384k"
}

do_equal_64k() {
  equal_few equal-64k "--io memory" Memory "--timestamps memory"
}

# Within the pool. Without Memory, whose entries take a quarter of the records' size.
do_equal_tenth() {
  equal_few equal-tenth "--path STORE.fovea --durability none --pool 10% --timestamps-in-buffer"
  rm -f "$out"/equal-tenth/*.fovea*
}

# equal_few NAME ARGUMENTS [TITLE STORE]...: the given stores, then those with 64 KiB.
equal_few() {
  many=${quick:+60000}
  few=$1
  arguments="$2 --records ${many:-200000} --threads 16"
  shift 2
  equal_slices "$few" "$arguments" "$@" \
    "Focus-Sketch 32k + 32k" "$sketch 32k --sketch-bytes 32k" \
    "Focus-Sketch 32k + 32k, evicted at once" "$sketch 32k --sketch-bytes 32k --evict-immediately" \
    "Focus-Counter 32k + 32k" "$counter 32k --sketch-bytes 32k" \
    "Disk-Cache 32k + 32k" "$cache 32k --sketch-bytes 32k"
}

# equal_slices NAME ARGUMENTS TITLE STORE [TITLE STORE]...: TicToc with each store in slices, all four workloads one after the
# other on one database, and a table per workload. STORE in the arguments is replaced by the number of the store.
equal_slices() {
  name=$1
  arguments=$2
  shift 2
  later=$(printf '%s' "${small#*,}" | tr , ' ')
  number=0
  pairs_left=$(($# / 2))
  while [ "$number" -lt "$pairs_left" ]; do
    number=$((number + 1))
    command="ycsb run $(printf '%s' "$arguments" | sed "s/STORE/$number/") $2 --workload ${small%%,*}"
    for load in $later; do
      command="$command --then 'workload=$load json=$load/round-ROUND/$number.json'"
    done
    set -- "$@" "$1" "$command"
    shift 2
  done
  for load in $later; do
    for round in $(seq "$rounds"); do
      mkdir -p "$out/$name/$load/round-$round"
    done
  done
  slices "$out/$name" 3 3 "$@"
  table "$out/$name" "$name, ${small%%,*}"
  for load in $later; do
    cp "$out/$name/titles.txt" "$out/$name/$load"
    table "$out/$name/$load" "$name, $load"
  done
}

# Figures 4.9 to 4.12: fast storage. The paper uses a disk in memory; here it is a device in memory with a pool of a tenth.
fast_ycsb() {
  many=${quick:+50000}
  ycsb "$1" "$2" "$3" "$fast" "$4" --io memory --records "${many:-200000}" --pool 10% --no-check
}

do_fig49() {
  fast_ycsb fig-4.9 "Small transactions, fast storage (figure 4.9)" 1 "$small"
}

do_fig410() {
  fast_ycsb fig-4.10 "Mixed transactions, fast storage (figure 4.10)" 1 "$mixed"
}

do_fig411() {
  fast_ycsb fig-4.11 "Long transactions, fast storage (figure 4.11)" 3 long
}

do_fig412() {
  tpcc_by fig-4.12 "TPC-C, New-Order and Payment, 16 threads, fast storage (figure 4.12)" "$fast" --buffer 12m --no-check
}

do_protocols() {
  do_fig32
  do_fig33
  do_fig34
  do_fig36
  do_fig37
  do_fig38
  do_equal
}
