#!/bin/sh
# Runs the benchmarks of docs/benchmarks and writes a summary.
#
#   docs/benchmarks/run.sh                     all parts: a long night
#   docs/benchmarks/run.sh tpcc ladder         some parts
#   QUICK=1 docs/benchmarks/run.sh beyond      smoke test: minimal sizes, one round, less than a minute per part;
#                                              the figures mean nothing
#   SHARE=0.5 docs/benchmarks/run.sh ladder    half of the seconds, or slices, of each run
#   RECORDS=16000000 WAREHOUSES=10 LENGTH=5 TIME=90 docs/benchmarks/run.sh reads drift
#                                              smaller tables, 5 s per line of lookups, 90 s per plot
#   docs/benchmarks/run.sh profile BudgetInsertDelete.insert
#                                              hot methods of one benchmark
#   docs/benchmarks/run.sh change OLD.jar [OPERATION...]
#                                              the budget's operations of an older build and this one, alternating in
#                                              one JVM: has a change made one slower? 21 minutes
#
# Parts:
#
#   engines     Fovea, LMDB, RocksDB and MVStore: a table, and plots/engines.svg
#   scans       scans of 1, 10, 100 and 1,000 records by leaves and by items; those of 100 also with the other
#               engines; eleven minutes
#   tpcc        TPC-C in memory, 1 warehouse with 1 thread, 2 with 2, 10 with 2
#   warm        TPC-C in memory from the first transaction of a JVM, without and with an AOT cache; seven minutes
#   cold        a new JVM: open a store, one transaction, close; and a load as the first thing; also with other engines;
#               ten minutes
#   contention  TPC-C, 16 threads on one warehouse: aborts
#   translations-tpcc  only the second half of translations
#   ladder      page translations from the latched table to predictive, and those without a table: descents
#               through pages of links; six minutes
#   translations  lookups and TPC-C in memory with each translation; ten minutes
#   translations-larger  the same with data five times the buffer, and the memory for metadata; ten minutes
#   swizzling   the experiments of "In-Memory Performance for Big Data": sizes of working sets, inserts, TPC-C
#               without log and locks; eleven minutes
#   vmcache     TPC-C in memory compared with vmcache, whose program VMCACHE names; not run by default; eleven minutes
#   promotion   whether pages found by frame hints should move to their preferred frames; three minutes
#   budget      the cost of each operation, and of its parts
#   forms       each operation with rows, byte strings and objects; generated and handwritten codecs
#   lookups     random point lookups of 10 million records, tree and API
#   locations   lookups with cached key locations, by translation; by secondary keys; TPC-C; a quarter of an hour
#   shortcut    a directory in virtual memory compared with one of pointers, alone and in a hash table: the experiments of
#               "Taking the Shortcut"; three minutes. Smaller, with a message, if vm.max_map_count is 65530
#   timestamps  the cost of an item's timestamps
#   disk        TPC-C on a file, also with a pool smaller than the data
#   durability  TPC-C with a log: sync with clients that share group commits, async, none; nine minutes
#   clients     durable transactions of one, two and more clients, in slices; TPC-C without a log, with 64 clients that
#               wait for it, and with each of the two alone, with the time of each thread; ten minutes
#   recovery    the replay rate of a log of 1 GiB
#   reads       random point reads of data 5 and 10 times the pool, alternating with fio
#   larger      TPC-C on data 5 times the pool, second by second
#   transition  TPC-C that outgrows the pool, three translations; a working set that outgrows the pool and shrinks
#               again; thirteen minutes
#   crossing    the same next to a run whose data fits, in slices, by the size of the data; twenty minutes
#   drift       a working set of which a quarter is replaced in each interval, with each translation; nine minutes
#   sizes       working sets of 0.5 to 3 pools compared with a model of their misses, three translations;
#               fourteen minutes
#   replacement hit ratios of the replacement policies, by replay of traces
#   io-paths    the cost of a random read by system call, by a poller's ring, by a thread's own ring
#   features    how long large operations take, and how far they slow others: snapshots, loads, openings, index builds,
#               drops, range deletes, counts; at most twenty minutes. Names of rows select rows: see features.sh
#   secondary   lookups by secondary keys, with hints, without, with wrong ones; the fate of hints; nine minutes
#   hints       TPC-C in memory without hints, with each kind, with the system's page table and with predictive
#               translation, by 2 and 16 threads; ten minutes. Beyond memory: beyond
#   protocols   transactional YCSB and TPC-C under each protocol, and with each timestamp store: its parts are fig3.2,
#               fig3.3, fig3.4, fig3.6, fig3.7, fig3.8 and equal; two hours
#   equal       Focus-Sketch, the caches and Memory at equal total memory for timestamps: equal-544k with 16 threads,
#               equal-2t the same with two, equal-64k, equal-tenth; forty minutes, or one of them
#   loads       records in key order by transactions of 1,000 and by one load, and the disk space they use, also with
#               LMDB and RocksDB; five minutes
#   repair-a, repair-b, repair-c, repair   lookups during changes of hints: LIPAH's figure 6a, 6b, 6c, ten million
#               lookups each; six minutes each, or all
#   beyond      TPC-C on data tens of times the pool, by eight engines: LIPAH's figure 3b; nine minutes, 6 GB of disk
#   skewed      uniform and skewed lookups under each translation, in memory and with a pool of a fifth; eleven minutes
#   chains, metadata, counters   lengths of chains, memory for metadata, cache misses of a lookup; seconds
#   fig3.5      timestamps on disk compared with Focus-Sketch, by the size of the pool; eleven minutes
#   fig4.9, fig4.10, fig4.11, fig4.12   the same experiments on fast storage, a device in memory; nine, seven, four
#               and six minutes
#   rivals      Fovea, RocksDB, LMDB, MVStore, JE and Xodus: built by mvn -Privals; a quarter of an hour
#   streams     state stores of Kafka Streams compared with RocksDB's, with a broker: at most MINUTES (15)
#   inlining    hot methods that were not inlined
#
# OUT is the folder of the results (benchmarks-<time> in the current folder). For each part, OUT/part-NAME.md has its
# tables with commit, date, rounds and machine, ready for its page; plots/NAME.svg is OUT/NAME.svg. OUT/parts.txt has
# the duration of each part, OUT/failed.txt the failures. A failed part does not stop the others; the exit status is
# then 1.
#
# Compared runs alternate, ROUNDS times (3), so that a slow minute of the machine slows all of them; the summary takes
# medians. JMH starts ROUNDS JVMs per benchmark. JAVA_HOME names the preferred JDK. SLICE (0.15) is the length in
# seconds of a slice when processes alternate.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
root=$(CDPATH='' cd -- "$here/../.." && pwd) || exit 1
jar=$root/jmh/target/benchmarks.jar
required=22
quick=${QUICK:-}
rounds=${ROUNDS:-${quick:+1}}
rounds=${rounds:-3}
out=${OUT:-benchmarks-$(date -u +%Y%m%d-%H%M%S)}

die() {
  printf 'run.sh: %s\n' "$1" >&2
  exit 1
}

# Prints the feature version of a java command, such as 25; nothing if it does not run.
version_of() {
  "$1" -XshowSettings:properties -version 2>&1 </dev/null |
    sed -n 's/^ *java\.specification\.version = \([0-9][0-9]*\)$/\1/p'
}

# Prints the java commands in the usual folders, as in tpcc/tpcc.sh.
candidates() {
  [ -n "${JAVA_HOME:-}" ] && printf '%s\n' "$JAVA_HOME/bin/java"
  command -v java
  for folder in \
    /usr/lib/jvm/* /usr/lib64/jvm/* /usr/java/* /opt/java/* /opt/jdk* /opt/*/jdk* \
    /usr/local/jdk* /usr/local/java/* "${HOME:-}"/.jdks/* "${HOME:-}"/.sdkman/candidates/java/* \
    "${SDKMAN_CANDIDATES_DIR:-/nowhere}"/java/* "${HOME:-}"/.asdf/installs/java/* \
    "${HOME:-}"/.local/share/mise/installs/java/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home \
    /opt/homebrew/opt/openjdk* /usr/local/opt/openjdk*
  do
    [ -x "$folder/bin/java" ] && printf '%s\n' "$folder/bin/java"
  done
}

find_java() {
  candidates | while IFS= read -r java; do
    [ -x "$java" ] || continue
    version=$(version_of "$java")
    if [ "${version:-0}" -ge "$required" ]; then
      printf '%s\n' "$java"
      break
    fi
  done
}

java=$(find_java)
[ -n "$java" ] || die "no JDK of version $required or later: install one, or set JAVA_HOME to it"
home=$(dirname -- "$(dirname -- "$java")")

build() {
  changed=
  [ -f "$jar" ] && changed=$(find "$root/pom.xml" "$root/bindings/src/main" "$root/engine/src/main" \
    "$root/jmh/src/main" -newer "$jar" -type f 2>/dev/null | head -n 1)
  [ -f "$jar" ] && [ -z "$changed" ] && return 0
  command -v mvn >/dev/null 2>&1 || die "$jar is missing or old, and there is no Maven to build it"
  printf 'building %s\n' "$jar" >&2
  command -v java >/dev/null 2>&1 || JAVA_HOME=${JAVA_HOME:-$home}
  export "JAVA$(version_of "$java")_HOME=$home" JAVA_HOME="${JAVA_HOME:-$home}"
  (cd "$root" && mvn -B -q -ntp -pl jmh -am -DskipTests package </dev/null >&2) ||
    die "the build failed"
}

say() {
  [ ! -d "$out" ] || printf '%s %s\n' "$(date -u +%H:%M:%S)" "$*" >>"$out/log.txt"
  printf '%s %s\n' "$(date -u +%H:%M:%S)" "$*" >&2
}

# jmh NAME ARGUMENT...: runs the benchmarks' jar; results in NAME.jmh.json.
jmh() {
  name=$1
  shift
  say "$name: $*"
  # shellcheck disable=SC2086 # options are words
  "$java" --enable-native-access=ALL-UNNAMED -jar "$jar" "$@" -f "$rounds" \
    ${quick:+-wi 1 -i 1 -w 500ms -r 500ms} -rf json -rff "$out/$name.jmh.json" >"$out/$name.txt" 2>&1 ||
    say "$name failed: see $out/$name.txt"
}

# jmh_in_turn NAME ARGUMENT...: the same with one JVM per benchmark, ROUNDS times, so that compared benchmarks alternate.
jmh_in_turn() {
  lines=$1
  shift
  number=1
  all_rounds=$rounds
  while [ "$number" -le "$all_rounds" ]; do
    rounds=1
    jmh "$lines-r$number" "$@"
    rounds=$all_rounds
    number=$((number + 1))
  done
}

# tpcc NAME ARGUMENT...: runs the driver once; report in NAME.tpcc.json.
tpcc() {
  name=$1
  shift
  say "$name: tpcc.sh run $*"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" run "$@" --duration "$(seconds 10)s" --warmup "$(seconds "${WARMUP:-10}")s" \
    --json "$out/$name.tpcc.json" >"$out/$name.txt" 2>&1 ||
    say "$name ended with $?: see $out/$name.txt"
}

# in_turn COMMAND: runs it with the number of each round, from 1.
in_turn() {
  round=1
  while [ "$round" -le "$rounds" ]; do
    "$1" "$round"
    round=$((round + 1))
  done
}

# where: the machine in one line.
where() {
  printf '%s processors, %s, %s, %s GB, JDK %s%s' "$(getconf _NPROCESSORS_ONLN)" \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)" "$(uname -sr)" \
    "$(awk '/^MemTotal/ { printf "%.0f", $2 / 1e6 }' /proc/meminfo 2>/dev/null)" "$(version_of "$java")" \
    "${quick:+; **QUICK: the figures mean nothing**}"
}

machine() {
  {
    printf 'commit: '
    git -C "$root" describe --always --dirty 2>/dev/null || printf 'unknown\n'
    printf 'date: %s\n' "$(date -u +%Y-%m-%dT%H:%MZ)"
    printf 'kernel: %s\n' "$(uname -sr)"
    printf 'processor: %s, %s of them\n' \
      "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)" \
      "$(getconf _NPROCESSORS_ONLN)"
    lscpu 2>/dev/null | sed -n 's/^ *\(L[123][di]* cache\): */\1: /p'
    sed -n 's/^MemTotal: */memory: /p' /proc/meminfo 2>/dev/null
    printf 'transparent huge pages: %s\n' \
      "$(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null)"
    "$java" -version 2>&1 | sed 's/^/java: /'
    printf 'load before: %s\n' "$(cat /proc/loadavg 2>/dev/null)"
  } >"$out/machine.txt"
}

do_engines() {
  say engines
  # shellcheck disable=SC2086 # options are words
  "$java" -cp "$jar" io.fovea.jmh.BesideOthers --dir "$out" --plot "$out/engines.svg" \
    ${quick:+--records 20000 --slice 0.05 --rounds 1 --warm-up 0} >"$out/engines.md" 2>"$out/engines.txt" || {
    say "engines failed: see $out/engines.txt"
    return
  }
  cat "$out/engines.md"
  [ -n "$quick" ] || cp "$out/engines.svg" "$here/plots/engines.svg"
}

do_tpcc() {
  tpcc "tpcc-1w1t-$1" --io memory --warehouses 1 --threads 1
  tpcc "tpcc-2w2t-$1" --io memory --warehouses 2 --threads 2
  tpcc "tpcc-10w2t-$1" --io memory --warehouses 10 --threads 2
}

# From the first transaction, without and with an AOT cache.
do_warm() {
  for load in 1w1t 2w2t; do
    for aot in off on; do
      name=warm-$load-$aot-$1
      say "$name"
      [ $aot = off ] || aot=first # not in the background
      FOVEA_AOT=$aot JAVA_HOME=$home "$root/tpcc/tpcc.sh" run --io memory --warehouses "${load%%w*}" \
        --threads "${load%%w*}" --warmup 0s --duration "$(seconds 30 4)s" --json "$out/$name.tpcc.json" \
        >"$out/$name.txt" 2>&1 || say "$name ended with $?: see $out/$name.txt"
    done
  done
}

do_cold() {
  say cold
  printed cold "$java" -cp "$jar" io.fovea.jmh.ColdStart --dir "$out" ${quick:+--records 20000 --rounds 1}
}

do_contention() {
  tpcc "contention-full-$1" --io memory --warehouses 1 --threads 16
  tpcc "contention-half-$1" --io memory --warehouses 1 --threads 16 --mix half
}

# seconds NUMBER [QUICK]: the length of a run in seconds: NUMBER times SHARE, or with QUICK the second number (1).
seconds() {
  if [ -n "$quick" ]; then
    printf '%s' "${2:-1}"
  else
    awk -v n="$1" -v share="${SHARE:-1}" 'BEGIN { printf "%.3g", n * share }'
  fi
}

# slices FOLDER WARMUP MEASURED TITLE COMMAND [TITLE COMMAND]...: runs commands of the driver in alternating slices. WARMUP
# and MEASURED are the seconds of each, in each of ROUNDS rounds with new JVMs. Reports are FOLDER/round-ROUND/NUMBER.json;
# Beside.java prints them as a table.
slices() {
  folder=$1
  warm=$(seconds "$2" 0.2)
  time=$(seconds "$3" 0.3)
  shift 3
  rm -rf "$folder"/round-*
  mkdir -p "$folder"
  : >"$folder/titles.txt"
  # Build the driver and its cache now if needed, not in a slice.
  case " $* " in *" --io memory "*) in_memory="--io memory" ;; *) in_memory= ;; esac
  # shellcheck disable=SC2086 # options are words
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" run $in_memory --version >/dev/null 2>&1
  engines=$(($# / 2))
  natives=
  number=0
  while [ "$number" -lt "$engines" ]; do
    number=$((number + 1))
    printf '%s\n' "$1" >>"$folder/titles.txt"
    times=$(awk "BEGIN { printf \"--warmup %.3gs --duration %.3gs\", $warm * $engines, $time * $engines }")
    case $2 in
      native*)
        natives="$natives $number"
        command="env ${2#native} RUNFOR=$(native_seconds) BLOCK=native.block $VMCACHE"
        ;;
      *) command="$root/tpcc/tpcc.sh $2 $times --json round-ROUND/$number.json" ;;
    esac
    set -- "$@" "$command"
    shift 2
  done
  round=1
  while [ "$round" -le "$rounds" ]; do
    say "$folder: $engines in slices, round $round of $rounds"
    mkdir -p "$folder/round-$round"
    # The block device of a native program, which writes nothing to it: all of its data is in memory.
    [ -z "$natives" ] || truncate -s 16G "$folder/native.block"
    # "$@" with the round's number.
    (
      for command; do
        shift
        set -- "$@" "$(printf '%s' "$command" | sed "s/round-ROUND/round-$round/g")"
      done
      cd "$folder" && JAVA_HOME=$home "$here/slices.sh" "${SLICE:-0.15}" "$@"
    ) >"$folder/round-$round.txt" 2>&1 || say "round $round ended with $?: see $folder"
    native_reports
    number=0
    while [ "$number" -lt "$engines" ]; do
      number=$((number + 1))
      [ -s "$folder/round-$round/$number.json" ] ||
        say "no figure of $(sed -n "${number}p" "$folder/titles.txt") in round $round: $(tail -n 1 "$folder/slice-$number.txt")"
    done
    rm -f "$folder/native.block"
    # If runs load their data, they do so in each round.
    [ -z "${fresh:-}" ] || rm -f "$folder"/*.fovea*
    round=$((round + 1))
  done
}

# The seconds that a native program runs: longer than the others, which also load.
native_seconds() {
  awk "BEGIN { printf \"%d\", ($warm + $time + 8) * $engines }"
}

# Writes the reports of native programs, which print one line per second: number, transactions.
native_reports() {
  skipped=$(awk "BEGIN { printf \"%d\", $warm * $engines }")
  measured=$(awk "BEGIN { printf \"%d\", $time * $engines + 0.5 }")
  for number in $natives; do
    report=$folder/round-$round/$number.json
    awk -F, -v from="$skipped" -v n="$measured" \
      '$1 ~ /^[0-9]+$/ && $1 >= from && $1 < from + n { sum += $2; lines++ }
      END { if (lines == n) printf "{\"transactionsPerSecond\": %.1f}\n", sum / n }' \
      "$folder/slice-$number.txt" >"$report"
    [ -s "$report" ] || rm -f "$report"
  done
}

# compare NAME WARMUP MEASURED TITLE ARGUMENTS [TITLE ARGUMENTS]...: runs TPC-C with several engines in slices; table in
# NAME.md.
compare() {
  name=$1
  warmed=$2
  measures=$3
  shift 3
  pairs_left=$(($# / 2))
  while [ "$pairs_left" -gt 0 ]; do
    pairs_left=$((pairs_left - 1))
    case $2 in
      native*) set -- "$@" "$1" "$2" ;;
      *) set -- "$@" "$1" "run $2" ;;
    esac
    shift 2
  done
  slices "$out/$name" "$warmed" "$measures" "$@"
  rm -f "$out/$name"/*.fovea*
  table "$out/$name" | tee "$out/$name.md"
}

# table FOLDER [WHAT]: prints the reports of slices as a table, with WHAT as the heading of the titles.
table() {
  printf '\n'
  "$java" -XX:TieredStopAtLevel=1 "$here/Beside.java" "$@"
}

# printed NAME COMMAND...: runs a program that prints a table; output in NAME.md, errors in NAME.txt.
printed() {
  name=$1
  shift
  "$@" >"$out/$name.md" 2>"$out/$name.txt" || say "$name failed: see $out/$name.txt"
  cat "$out/$name.md"
}

# translations FIGURE ARGUMENT...: measures one of the figures of io.fovea.translations, in FIGURE.md.
translations() {
  figure=$1
  shift
  say "translations $figure"
  printed "$figure" "$java" -Xmx512m --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.translations.Translations \
    "$figure" --dir "$out" --rounds "$(seconds 16 2 | awk '{ printf "%d", $1 + 0.5 }')" ${quick:+--quick} "$@"
  rm -f "$out"/translations-*.fovea*
}

do_ladder() {
  translations ladder
}

do_translations() {
  translations memory
  do_translations_tpcc
}

do_translations_tpcc() {
  # Nine buffers of this size fit in memory.
  same="--io memory --buffer 1g --warehouses 1 --threads 1 --translation"
  compare translations-tpcc-1t 3 3 predictive "$same predictive" latched "$same latched" \
    optimistic-chained "$same optimistic-chained" optimistic "$same optimistic" \
    predictive-hashed "$same predictive-hashed" swizzled "$same swizzled" virtual "$same virtual" \
    direct "$same direct" "predictive, no huge pages" "$same predictive --no-huge-pages"
  same="--io memory --buffer 1g --warehouses 2 --threads 2 --translation"
  compare translations-tpcc-2t 3 3 predictive "$same predictive" latched "$same latched" \
    swizzled "$same swizzled" virtual "$same virtual" direct "$same direct"
}

# TPC-C with a pool of a fifth of the loaded data: one load, and a copy per translation.
do_translations_larger() {
  translations metadata
  translations larger
  warehouses=${quick:+1}
  warehouses=${warehouses:-4}
  kinds="predictive latched swizzled virtual"
  mkdir -p "$out/larger-tpcc"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" load --path "$out/larger-tpcc/predictive.fovea" --durability none \
    --buffer 1g --warehouses "$warehouses" --threads 2 >"$out/larger-tpcc-load.txt" 2>&1 ||
    die "the load ended with $?: see $out/larger-tpcc-load.txt"
  pool=$(($(wc -c <"$out/larger-tpcc/predictive.fovea") / 5))
  set --
  for kind in $kinds; do
    [ $kind = predictive ] ||
      cp "$out/larger-tpcc/predictive.fovea" "$out/larger-tpcc/$kind.fovea" || die "no space for a copy"
    set -- "$@" $kind "--path $kind.fovea --durability none --warehouses $warehouses --threads 2 \
      --buffer $pool --no-check --translation $kind"
  done
  compare larger-tpcc 4 6 "$@"
}

do_swizzling() {
  translations sizes
  translations beyond
  translations inserts
  fresh=1
  for how in async none "none --locks off"; do
    set --
    for kind in latched swizzled direct; do
      set -- "$@" "$kind, $(printf '%s' "$how" | sed 's/ --/, /')" "--path $kind.fovea --durability $how --warehouses 1 \
        --threads 1 --buffer 1g --translation $kind"
    done
    compare "swizzling-tpcc-$(printf '%s' "$how" | tr -d ' ')" 3 3.5 "$@"
  done
  fresh=
}

# Compared with vmcache (Leis et al., SIGMOD 2023), which is built separately. It has no transactions, no log, and a lighter
# TPC-C, whose mix is used here.
do_vmcache() {
  [ -n "${VMCACHE:-}" ] || die "VMCACHE names vmcache's program, which is not a part of this project"
  for load in 1 2; do
    same="--io memory --buffer 2g --warehouses $load --threads $load --mix 45,43,4,4,4"
    compare "vmcache-tpcc-${load}w${load}t" 5 6 vmcache "native THREADS=$load DATASIZE=$load" Fovea "$same" \
      "Fovea, virtual" "$same --translation virtual" "Fovea, latched" "$same --translation latched"
  done
}

do_promotion() {
  translations promotion
}

# Scans up and down, through byte strings and rows, in read-only and other transactions; then with other engines.
do_scans() {
  fewer="-wi 4 -i 4"
  [ -n "$quick" ] && fewer="-p records=20000"
  # shellcheck disable=SC2086 # options are words
  {
    jmh_in_turn scans-100 ScanRecords -prof gc $fewer
    jmh_in_turn scans-lengths 'ScanRecords.(bytes|rows)Up' -p scanned=1,10,1000 -p reading=true $fewer
    jmh_in_turn scans-2t 'ScanRecords.bytesUp' -t 2 -p reading=true $fewer
  }
  say "scans, with other engines"
  # shellcheck disable=SC2086 # options are words
  printed scans-engines "$java" -cp "$jar" io.fovea.jmh.BesideOthers --dir "$out" --workloads scan \
    ${quick:+--records 20000 --slice 0.05 --rounds 1 --warm-up 0}
}

do_budget() {
  # Inserts and deletes need one thread; the others run with two as well.
  fewer="-wi 4 -i 4"
  [ -n "$quick" ] && fewer="-p records=20000"
  # shellcheck disable=SC2086 # options are words
  {
    jmh budget-1t 'Budget(Point|Transaction|InsertDelete|Scan|Parts)\.' -prof gc $fewer
    jmh budget-2t 'Budget(Point|Transaction|Scan)\.' -t 2 -prof gc $fewer
  }
}

do_lookups() {
  for threads in 1 2; do
    jmh "lookups-tree-${threads}t" '\.PointLookup\.' -t $threads -prof gc ${quick:+-p records=100000}
    jmh "lookups-api-${threads}t" ApiPointLookup -t $threads -prof gc ${quick:+-p records=100000}
  done
}

# Lookups from the root and from cached key locations; also with little memory for locations, and with wrong ones.
do_locations() {
  translations locations ${VMCACHE:+--vmcache "$VMCACHE"}
  say "locations, by secondary keys"
  printed locations-secondary "$java" -Xmx1g --enable-native-access=ALL-UNNAMED -Dsets=3 -cp "$jar" \
    io.fovea.SecondaryLookups engines ${quick:+20000 8}
  same="--io memory --buffer 2g --warehouses 1 --threads 1"
  compare locations-tpcc 5 8 "from the root" "$same" "cached locations" "$same --cache-locations"
}

# experiment NAME CLASS ARGUMENT...: runs an experiment of the shortcut paper; tables in NAME.md.
experiment() {
  name=$1
  class=$2
  shift 2
  say "$name: $class $*"
  printed "$name" "$java" -Xmx1g --enable-native-access=ALL-UNNAMED -cp "$jar" "io.fovea.shortcut.$class" "$@"
}

do_shortcut() {
  mappings=$(cat /proc/sys/vm/max_map_count 2>/dev/null)
  [ "${mappings:-65530}" -ge 5000000 ] ||
    say "vm.max_map_count is ${mappings:-unknown}: tables of 1.5 million entries, directories in random order of 2^15 slots"
  experiment shortcut-access ShortcutAccess ${quick:+--bits=8,12 --rounds=1 --accesses=100000}
  experiment shortcut-creation ShortcutCreation ${quick:+--bits=10 --bits-in-order=10 --rounds=1}
  experiment shortcut-fan-in ShortcutFanIn ${quick:+--bits=12 --rounds=1 --accesses=100000}
  experiment shortcut-shootdown ShortcutShootdown ${quick:+--bits=12 --remaps=100 --rounds=1}
  experiment shortcut-tables ShortcutTables ${quick:+--entries=100000 --lookups=100000 --rounds=1}
  experiment shortcut-waves ShortcutWaves --out "$out/shortcut-waves.csv" \
    ${quick:+--entries=200000 --accesses=100000 --rounds=1}
}

do_timestamps() {
  jmh timestamps-1t TimestampCost -t 1 -prof gc
  jmh timestamps-2t TimestampCost -t 2 -prof gc
  jmh timestamp-stores 'TimestampStoreCost.(readAndExtend|mapReadAndExtend|wrappedReadAndExtend)' -t 2 -prof gc
}

do_disk_once() {
  WARMUP=${WARMUP:-5}
  for io in uring posix; do
    rm -f "$out/disk.fovea"
    tpcc "disk-$io-$1" --path "$out/disk.fovea" --durability none --io $io --warehouses 2 --threads 2
    rm -f "$out/disk.fovea"
    # Two warehouses are about 400 MB: an eighth of that.
    tpcc "disk-eighth-$io-$1" --path "$out/disk.fovea" --durability none --io $io --warehouses 2 \
      --threads 2 --buffer 48m
    rm -f "$out/disk.fovea"
  done
}

# The table of point reads, loaded once for all parts that use it, and deleted at the end.
records=${RECORDS:-${quick:+300000}}
records=${records:-20000000}
seconds=${quick:+2}
seconds=${seconds:-${LENGTH:-10}}

# lookups NAME ARGUMENT...: runs lookups on that table; report in NAME.lookups.json.
lookups() {
  name=$1
  shift
  say "$name: tpcc.sh lookups $*"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" lookups --path "$table" --records "$records" "$@" \
    --json "$out/$name.lookups.json" >"$out/$name.txt" 2>&1 ||
    say "$name ended with $?: see $out/$name.txt"
}

# load_table: loads the table if needed, and sets fifth and tenth, sizes of pools.
load_table() {
  if [ ! -f "$table" ]; then
    say "loading $records records"
    JAVA_HOME=$home "$root/tpcc/tpcc.sh" lookups --path "$table" --records "$records" --threads 2 \
      --buffer 1g --duration 1s --warmup 0 >"$out/records.txt" 2>&1 ||
      die "the load ended with $?: see $out/records.txt"
  fi
  bytes=$(wc -c <"$table")
  fifth=$((bytes / 5))
  tenth=$((bytes / 10))
}

# fio and two databases, with pools of a fifth and a tenth of the data, in alternating slices. The depth is divided among four
# threads; a depth of 1 has one.
do_reads() {
  if ! command -v fio >/dev/null 2>&1; then
    say "fio is missing: reads are skipped"
    return
  fi
  load_table
  cp "$table" "$out/second.fovea" || die "no space for a second table"
  for depth in 1 16 64; do
    for round in $(seq "$rounds"); do
      threads=4
      keys=4096
      [ $depth = 1 ] && threads=1 && keys=1
      same="--records $records --durability none --threads $threads --reads $((depth / threads)) \
        --depth $keys --warmup 0s --duration 600s"
      say "reads, depth $depth: fio, a fifth, a tenth"
      (cd "$out" && JAVA_HOME=$home "$java" -XX:TieredStopAtLevel=1 "$here/Turns.java" \
        0.5 "${quick:-20}" "${quick:-10}" \
        "fio --thread --name=r --filename=$table --rw=randread --bs=4k --direct=1 --ioengine=io_uring \
          --iodepth=$depth --numjobs=1 --time_based --runtime=600 --readonly --norandommap" \
        "$root/tpcc/tpcc.sh lookups --path $table --buffer $fifth $same" \
        "$root/tpcc/tpcc.sh lookups --path $out/second.fovea --buffer $tenth $same") |
        tee "$out/reads-d$depth-$round.md" || say "ended with $?"
    done
  done
  rm -f "$out"/second.fovea*
}

# plot NAME TITLE: plots the reports of a run.
plot() {
  for report in "$out/$1.tpcc.json" "$out/$1.lookups.json"; do
    [ -f "$report" ] || continue
    JAVA_HOME=$home "$root/tpcc/tpcc.sh" report "$report" --out "$out/$1.svg" --title "$2" \
      >>"$out/$1.txt" 2>&1 || say "no plot of $1: see $out/$1.txt"
  done
}

# long_tpcc NAME SECONDS ARGUMENT...: runs TPC-C for SECONDS, with a report and a latency log for plots.
long_tpcc() {
  name=$1
  time=${quick:+4}
  time=${time:-${TIME:-$2}}
  shift 2
  say "$name: tpcc.sh run $*"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" run --path "$out/long.fovea" "$@" --duration "${time}s" \
    --warmup "$((seconds * 2))s" --json "$out/$name.tpcc.json" --hlog "$out/$name.tpcc.hlog" \
    >"$out/$name.txt" 2>&1 || say "$name ended with $?: see $out/$name.txt"
  rm -f "$out/long.fovea" "$out/long.fovea.log" "$out/long.fovea.dwb"
}

do_larger() {
  warehouses=${WAREHOUSES:-${quick:+1}}
  warehouses=${warehouses:-30}
  for threads in 2 16; do
    say "larger: loading $warehouses warehouses"
    JAVA_HOME=$home "$root/tpcc/tpcc.sh" load --path "$out/long.fovea" --durability none \
      --buffer 1g --warehouses "$warehouses" --threads 2 >"$out/larger-load.txt" 2>&1 ||
      die "the load ended with $?: see $out/larger-load.txt"
    long_tpcc "larger-${threads}t-1" 120 --warehouses "$warehouses" --threads $threads \
      --buffer $(($(wc -c <"$out/long.fovea") / 5))
    plot "larger-${threads}t-1" "TPC-C on data 5 times the pool, $threads threads"
  done
}

# The translations compared by transition and sizes.
outgrowing="predictive swizzled virtual"

do_transition() {
  # As in the paper: the loaded data fills half of the pool, and TPC-C's growth the rest. A warehouse is 112 MB, ITEM about 20.
  warehouses=${WAREHOUSES:-${quick:+1}}
  warehouses=${warehouses:-10}
  for kind in $outgrowing; do
    long_tpcc "transition-tpcc-$kind-1" 180 --warehouses "$warehouses" --threads 2 \
      --buffer $(((warehouses * 112 + 20) * 2))m --translation $kind
    plot "transition-tpcc-$kind-1" "TPC-C, from half of the pool to more than all of it, $kind"
  done
  load_table
  time=${quick:+6s}
  lookups transition-lookups-1 --buffer "$fifth" --threads 2 --grow 0.5..3 --shrink \
    --duration "${time:-${TIME:-120}s}" --warmup "$((seconds / 2))s"
  plot transition-lookups-1 "A working set of 0.5 to 3 pools and back"
}

# In slices, so that changes of the machine's speed affect all runs alike.
do_crossing() {
  warehouses=${quick:+1}
  warehouses=${warehouses:-4}
  half=$((warehouses * 112 + 20))
  same="--warehouses $warehouses --threads 2"
  set -- "with room" "--path room.fovea $same --buffer $((half * 6))m"
  for kind in $outgrowing; do
    set -- "$@" "$kind" "--path $kind.fovea $same --buffer $((half * 2))m --translation $kind"
  done
  fresh=1
  compare crossing 10 80 "$@"
  fresh=
  "$java" -XX:TieredStopAtLevel=1 "$here/Crossing.java" "$out/crossing" | tee -a "$out/crossing.md"
}

do_drift() {
  translations drift
}

do_sizes_once() {
  for kind in $outgrowing; do
    lookups "sizes-$kind-$1" --buffer "$fifth" --threads 2 --sizes 0.5,0.9,1.0,1.1,1.2,1.5,2,3 \
      --duration "$(seconds 5 2)s" --warmup "$(seconds 5 2)s" --translation $kind
  done
}

do_io_paths() {
  load_table
  say io-paths
  printed io-paths "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.jmh.DeviceReads "$table" \
    "${quick:-2}" "$rounds"
}

. "$here/durable.sh"
. "$here/features.sh"
. "$here/papers.sh"
. "$here/protocols.sh"

do_forms() {
  say forms
  printed forms "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.Forms ${quick:+4} ${quick:+1}
  jmh codecs ObjectTables -prof gc
}

# LIPAH, figures 4 and 5 and table 1. Figure 6 is repair; locations compares whole engines.
do_secondary() {
  for figure in sizes stale poison robust robust-beyond table; do
    say "secondary $figure"
    beyond=
    [ $figure = robust-beyond ] && beyond=-Dbeyond=true
    printf '\n**%s**\n\n' $figure
    printed "secondary-$figure" "$java" -Xmx1g --enable-native-access=ALL-UNNAMED -Djdk.attach.allowAttachSelf=true \
      -XX:+EnableDynamicAgentLoading $beyond -cp "$jar" \
      io.fovea.SecondaryLookups ${figure%-beyond} ${quick:+20000 8}
  done
}

# TPC-C in memory without hints, with each kind, with the system's page table (the paper's engines 5 and 6) and with
# predictive translation, alone and with page hints. Beyond memory: beyond.
do_hints() {
  numbers="2 16"
  [ -n "$quick" ] && numbers=2
  for threads in $numbers; do
    set --
    for engine in $hint_engines; do
      set -- "$@" "$(printf '%s' "$engine" | sed 's/,/, hints /')" "--io memory --buffer 768m --warehouses 2 \
        --threads $threads --no-check --translation ${engine%,*} --hints ${engine#*,}"
    done
    printf '\nIn memory, two warehouses, threads: %s\n' "$threads"
    compare "hints-memory-$threads" 3 4 "$@"
  done
}

do_replacement() {
  # One client, so that the trace is the same each time. The load is not traced.
  say replacement
  length=${quick:+2s}
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" load --path "$out/trace.fovea" --durability none --warehouses 1 \
    --threads 1 >"$out/replacement-trace.txt" 2>&1 &&
    JAVA_HOME=$home FOVEA_JAVA_OPTS="-javaagent:$jar=trace=$out/tpcc.trace" "$root/tpcc/tpcc.sh" run \
      --path "$out/trace.fovea" --durability none --threads 1 --warmup 0 --duration "${length:-20s}" \
      >>"$out/replacement-trace.txt" 2>&1 ||
    say "the trace of TPC-C failed: see $out/replacement-trace.txt"
  printed replacement "$java" -Xmx1g --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.jmh.ReplacementTraces \
    --json "$out/replacement.json" TPC-C="$out/tpcc.trace"
  rm -f "$out/trace.fovea" "$out/tpcc.trace"
}

# Loads of records in key order, also by other engines, and the resulting file sizes.
do_loads() {
  say loads
  # lmdbjava changes the addresses of buffers.
  # shellcheck disable=SC2086 # options are words
  printed loads "$java" --enable-native-access=ALL-UNNAMED --add-opens=java.base/java.nio=ALL-UNNAMED \
    --add-exports=java.base/sun.nio.ch=ALL-UNNAMED -cp "$jar" io.fovea.jmh.Loads --dir "$out" \
    ${quick:+--records 20000 --rounds 1 --warm-up 0 --quiet 1}
}

# Kafka is not in the benchmarks' jar: the main class is in the tests of fovea-streams.
do_streams() {
  say streams
  command -v mvn >/dev/null 2>&1 || die "streams needs Maven to resolve Kafka"
  command -v java >/dev/null 2>&1 || JAVA_HOME=${JAVA_HOME:-$home}
  export "JAVA$(version_of "$java")_HOME=$home" JAVA_HOME="${JAVA_HOME:-$home}"
  (cd "$root" && mvn -B -q -ntp -pl integrations/streams -am test-compile dependency:build-classpath \
    -Dmdep.outputFile=target/test.classpath -Dmdep.includeScope=test </dev/null >&2) || die "the build failed"
  module=$root/integrations/streams/target
  stored=${quick:+30000}
  stored=${stored:-750000}
  sent=${quick:+20000}
  sent=${sent:-400000}
  seconds=${quick:+0.5}
  "$java" --enable-native-access=ALL-UNNAMED -Dorg.apache.logging.log4j.level=ERROR \
    -cp "$module/test-classes:$module/classes:$(cat "$module/test.classpath")" \
    io.fovea.streams.bench.StreamsBench "$out/streams" "$rounds" "${MINUTES:-15}" \
    "$stored" "$sent" "${seconds:-4}" \
    2>"$out/streams.txt" | tee "$out/streams.md"
  rm -rf "$out/streams"
}

do_inlining() {
  say inlining
  "$java" -cp "$jar" io.fovea.jmh.InliningCheck >"$out/inlining.txt" 2>&1
}

# Hot methods by the flight recorder's samples, which include inlined methods.
do_profile() {
  say "profile $1"
  mkdir -p "$out/profile/$1"
  "$java" --enable-native-access=ALL-UNNAMED -jar "$jar" "$1" -f 1 -wi 5 -i 10 -w 1s -r 1s \
    -jvmArgsAppend "-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints" \
    -prof "jfr:dir=$out/profile/$1" >"$out/profile/$1.txt" 2>&1
  find "$out/profile/$1" -name '*.jfr' | while IFS= read -r recording; do
    printf '%s\n' "$recording"
    "$home/bin/jfr" view --width 140 hot-methods "$recording"
  done
}

# Compares this build with an older one.
do_change() {
  say "change: $*"
  old=$1
  shift
  "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.jmh.BudgetBeside ${quick:+--rounds 4 --jvms 1} \
    "$old" "$jar" "$@" | tee "$out/change.md"
}

mkdir -p "$out" || die "cannot make $out"
out=$(CDPATH='' cd -- "$out" && pwd)
table=$out/records.fovea
trap 'rm -f "$out"/translations-*.fovea* "$table"* "$out"/second.fovea* "$out"/feature.fovea*' EXIT
[ "$*" = streams ] || [ "$*" = rivals ] || build
machine
if [ "${1:-}" = profile ]; then
  [ $# -ge 2 ] || die "profile needs the name of a benchmark"
  shift
  for benchmark; do
    do_profile "$benchmark"
  done
  exit 0
fi
if [ "${1:-}" = change ]; then
  [ $# -ge 2 ] || die "change needs the older jar"
  shift
  do_change "$@"
  exit 0
fi
if [ "${1:-}" = features ] && [ $# -ge 2 ] && is_feature "$2"; then
  shift
  do_features "$@"
  exit 0
fi
[ $# -gt 0 ] || set -- engines tpcc warm cold contention ladder translations translations-larger swizzling promotion budget forms lookups locations shortcut timestamps disk durability clients recovery reads larger transition \
  crossing drift sizes replacement io-paths features secondary hints protocols loads scans repair beyond skewed chains metadata counters fig3.5 fig4.9 fig4.10 fig4.11 fig4.12 rivals streams inlining
# part NAME: runs one part.
part() {
  case $1 in
    engines) do_engines ;;
    tpcc) in_turn do_tpcc ;;
    warm) in_turn do_warm ;;
    contention) in_turn do_contention ;;
    ladder) do_ladder ;;
    translations) do_translations ;;
    translations-tpcc) do_translations_tpcc ;;
    translations-larger) do_translations_larger ;;
    swizzling) do_swizzling ;;
    promotion) do_promotion ;;
    vmcache) do_vmcache ;;
    scans) do_scans ;;
    budget) do_budget ;;
    forms) do_forms ;;
    lookups) do_lookups ;;
    locations) do_locations ;;
    shortcut) do_shortcut ;;
    timestamps) do_timestamps ;;
    disk) in_turn do_disk_once ;;
    durability) in_turn do_durability_once ;;
    clients) do_clients ;;
    recovery) in_turn do_recovery_once ;;
    reads) do_reads ;;
    larger) do_larger ;;
    transition) do_transition ;;
    crossing) do_crossing ;;
    drift) do_drift ;;
    sizes) load_table && in_turn do_sizes_once ;;
    replacement) do_replacement ;;
    io-paths) do_io_paths ;;
    features) do_features ;;
    secondary) do_secondary ;;
    hints) do_hints ;;
    protocols) do_protocols ;;
    fig3.2) do_fig32 ;;
    fig3.3) do_fig33 ;;
    fig3.4) do_fig34 ;;
    fig3.6) do_fig36 ;;
    fig3.7) do_fig37 ;;
    fig3.8) do_fig38 ;;
    equal) do_equal ;;
    equal-2t) do_equal_544k 2 ;;
    equal-544k) do_equal_544k 16 ;;
    equal-64k) do_equal_64k ;;
    equal-tenth) do_equal_tenth ;;
    loads) do_loads ;;
    cold) do_cold ;;
    repair) do_repair a b c ;;
    repair-a | repair-b | repair-c) do_repair "${1#repair-}" ;;
    beyond) do_beyond ;;
    skewed) do_skewed ;;
    chains) do_chains ;;
    metadata) do_metadata ;;
    counters) do_counters ;;
    fig3.5) do_fig35 ;;
    fig4.9) do_fig49 ;;
    fig4.10) do_fig410 ;;
    fig4.11) do_fig411 ;;
    fig4.12) do_fig412 ;;
    rivals) do_rivals ;;
    streams) do_streams ;;
    inlining) do_inlining ;;
    *) die "unknown part $1; parts: engines tpcc warm cold contention ladder translations translations-larger translations-tpcc swizzling vmcache promotion budget forms lookups locations shortcut timestamps disk durability clients recovery reads larger transition crossing drift sizes replacement io-paths features secondary hints protocols fig3.2 fig3.3 fig3.4 fig3.6 fig3.7 fig3.8 equal loads scans repair beyond skewed chains metadata counters fig3.5 fig4.9 fig4.10 fig4.11 fig4.12 rivals streams inlining profile" ;;
  esac
}

# how_often PART: its number of rounds, in words.
how_often() {
  case $1 in
    larger | transition) printf 'one run of each' ;;
    *) [ "$rounds" = 1 ] && printf '1 round' || printf '%s rounds' "$rounds" ;;
  esac
}

# part-NAME.md has the output of a part with commit, date and rounds, and Summary.java's tables of its files, ready for its
# page. A failed part does not stop the next.
: >"$out/parts.txt"
for page; do
  began=$(date +%s)
  touch "$out/began"
  (part "$page") >"$out/part-$page.txt" || say "$page failed"
  took=$(($(date +%s) - began))
  {
    printf '**State.** %s, %s, `run.sh %s`: %s, %d s. %s.\n\n' "$(git -C "$root" describe --always --dirty 2>/dev/null)" \
      "$(date -u +%Y-%m-%d)" "$page" "$(how_often "$page")" "$took" "$(where)"
    # Pages do not name the folder.
    sed "s|$out/||g" "$out/part-$page.txt"
    printf '\n'
    "$java" -XX:TieredStopAtLevel=1 "$here/Summary.java" "$out" "$out/began"
  } >"$out/part-$page.md"
  cat "$out/part-$page.md"
  rm -f "$out/part-$page.txt" "$out/began"
  printf '%s\t%d s\n' "$page" "$took" >>"$out/parts.txt"
  say "$page took $took s"
done
"$java" -XX:TieredStopAtLevel=1 "$here/Summary.java" "$out" >"$out/summary.md"
if grep -E 'failed|ended with|no figure of' "$out/log.txt" >"$out/failed.txt"; then
  say "some parts failed: $(tr '\n' ';' <"$out/failed.txt")"
  exit 1
fi
rm -f "$out/failed.txt"
