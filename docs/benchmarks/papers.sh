# shellcheck shell=sh
# Parts of run.sh that make the experiments of the papers which have no page of their own; sourced by it.
# README.md has the list of all figures and tables, and which part makes which.

# per_second FILE FACTOR: what a report says of its throughput, times a factor; nothing where there is none.
per_second() {
  sed -nE 's/^ *"(transactionsPerSecond|lookupsPerSecond)": *([0-9.eE+]*).*/\2/p' "$1" 2>/dev/null | head -n 1 |
    awk -v factor="$2" '{ printf "%.0f", factor * $1 }'
}

# io_rate FILE: reads and writes of the device for each transaction or lookup of a report, n / n.
io_rate() {
  awk -F': *' '
    /^ *"(transactionsPerSecond|lookupsPerSecond)"/ && !all { all = $2 + 0 }
    /^ *"measuredSeconds"/ && !seconds { seconds = $2 + 0 }
    /^ *"deviceReadsPerSecond"/ && reads == "" { reads = $2 + 0 }
    /^ *"deviceWritesPerSecond"/ && writes == "" { writes = $2 + 0 }
    /^ *"reads"/ && r == "" { r = $2 + 0 }
    /^ *"writes"/ && w == "" { w = $2 + 0 }
    END {
      if (reads == "" && seconds) { reads = r / seconds; writes = w / seconds }
      if (all) printf "%.2f / %.2f", reads / all, writes / all
    }' "$1" 2>/dev/null
}

# in_slices FOLDER NAME COMMAND NAME COMMAND...: several runs of the driver at once, a slice of each in turn, their
# reports in FOLDER/NAME.json. Their throughput times their number is what each does alone.
in_slices() {
  folder=$1
  shift
  mkdir -p "$folder"
  names_of_slices=
  commands=0
  for word; do
    if [ $((commands % 2)) = 0 ]; then
      names_of_slices="$names_of_slices $word"
    else
      set -- "$@" "$root/tpcc/tpcc.sh $word --json $folder/${names_of_slices##* }.json"
    fi
    commands=$((commands + 1))
  done
  shift $commands
  say "$folder: $#"
  (cd "$folder" && JAVA_HOME=$home "$here/slices.sh" "${SLICE:-0.3}" "$@") >"$folder.txt" 2>&1 ||
    say "ended with $?: see $folder"
}

# beside_first FOLDER FACTOR NAME...: cells of a table, the throughput of each and its ratio to the first.
beside_first() {
  folder=$1
  factor=$2
  shift 2
  for name; do
    of=$(per_second "$folder/$1.json" "$factor")
    mine=$(per_second "$folder/$name.json" "$factor")
    awk -v a="${mine:-}" -v b="${of:-}" 'BEGIN { if (a && b) printf " %d · %.2f |", a, a / b; else printf " - |" }'
  done
}

# LIPAH, figure 6: the paper's three mixes, with as many lookups as there.
do_repair() {
  lookups=${quick:+20000}
  lookups=${lookups:-${LOOKUPS:-10000000}}
  for letter in a b c; do
    mix=10/10/80
    threads=1
    [ $letter = b ] && mix=50/10/40
    [ $letter = c ] && threads=10
    say "repair-6$letter: $lookups lookups of each, pages/frames/slots $mix, $threads threads"
    "$java" -Xmx1g --enable-native-access=ALL-UNNAMED -Dmix=$mix -Dthreads=$threads -Dlookups="$lookups" \
      -cp "$jar" io.fovea.SecondaryLookups repair ${quick:+20000} >"$out/repair-6$letter.md" 2>"$out/repair-6$letter.txt" ||
      say "repair-6$letter failed: see $out/repair-6$letter.txt"
    cat "$out/repair-6$letter.md"
  done
}

# What of the tables is enough to tell them apart; hints stand for themselves elsewhere.
hints_of() {
  [ "$1" = swizzled ] && printf frame || printf none
}

# LIPAH, figure 3b, with data of tens of times the pool: eight engines in slices, each with a copy of the file, from
# an empty pool on, clients on any warehouse. The paper has 2.5 times the pool, 40 threads, 200 s.
do_beyond() {
  warehouses=${WAREHOUSES:-${quick:+1}}
  warehouses=${warehouses:-6}
  say "beyond: loading $warehouses warehouses"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" load --path "$out/beyond.fovea" --durability none --buffer 1g \
    --warehouses "$warehouses" --threads 2 >"$out/beyond-load.txt" 2>&1 ||
    die "the load ended with $?: see $out/beyond-load.txt"
  pool=$(($(wc -c <"$out/beyond.fovea") / ${POOLS:-25}))
  engines='latched,none latched,frame latched,page latched,both virtual,none virtual,page predictive,none predictive,page'
  printf '| beyond memory, %s pools | %s |\n|---|---|---|---|---|---|---|---|---|\n' "${POOLS:-25}" \
    "$(printf '%s' "$engines" | sed 's/ / | /g')" >"$out/beyond.md"
  for threads in 2 16; do
    folder=$out/beyond-$threads
    mkdir -p "$folder"
    set --
    for engine in $engines; do
      cp "$out/beyond.fovea" "$folder/$engine.fovea" || die "no room for the files"
      set -- "$@" "$engine" "run --path $folder/$engine.fovea --durability none --buffer $pool --threads $threads \
        --no-affinity --translation ${engine%,*} --hints ${engine#*,} --warmup 0s --duration ${quick:-160}s"
    done
    in_slices "$folder" "$@"
    # shellcheck disable=SC2086 # engines are words
    printf '| %s threads, transactions/s · of the first |%s\n' "$threads" "$(beside_first "$folder" 8 $engines)" \
      >>"$out/beyond.md"
    {
      printf '| %s threads, reads / writes a transaction |' "$threads"
      for engine in $engines; do
        printf ' %s |' "$(io_rate "$folder/$engine.json")"
      done
      printf '\n'
    } >>"$out/beyond.md"
    rm -f "$folder"/*.fovea*
  done
  rm -f "$out"/beyond.fovea*
  cat "$out/beyond.md"
}

# Predictive Translation, figures 5 and 6: random lookups, uniform and with the paper's skew of 0.9, in memory and
# with a pool of a fifth, under each translation, without hints.
do_skewed() {
  many=${quick:+20000}
  many=${many:-1500000}
  kinds='latched optimistic-chained optimistic predictive-hashed predictive swizzled virtual direct'
  printf '| in memory, lookups/s · of the first | %s |\n|---|---|---|---|---|---|---|---|---|\n' \
    "$(printf '%s' "$kinds" | sed 's/ / | /g')" >"$out/skewed.md"
  for theta in 0 0.9; do
    for threads in 1 2; do
      folder=$out/skewed-$theta-$threads
      set --
      for kind in $kinds; do
        set -- "$@" $kind "lookups --io memory --records $many --theta $theta --threads $threads --translation $kind \
          --hints $(hints_of $kind) --warmup ${quick:-20}s --duration ${quick:-32}s"
      done
      in_slices "$folder" "$@"
      # shellcheck disable=SC2086 # kinds are words
      printf '| theta %s, %s threads |%s\n' $theta $threads "$(beside_first "$folder" 8 $kinds)" >>"$out/skewed.md"
    done
  done
  kinds='latched optimistic predictive swizzled virtual'
  printf '\n| a pool of a fifth, lookups/s · of the first | %s |\n|---|---|---|---|---|---|\n' \
    "$(printf '%s' "$kinds" | sed 's/ / | /g')" >>"$out/skewed.md"
  say "skewed: loading $many records"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" lookups --path "$out/skewed.fovea" --records "$many" --threads 2 --buffer 512m \
    --durability none --duration 1s --warmup 0s >"$out/skewed-load.txt" 2>&1 ||
    die "the load ended with $?: see $out/skewed-load.txt"
  pool=$(($(wc -c <"$out/skewed.fovea") / 5))
  for theta in 0 0.9; do
    folder=$out/skewed-fifth-$theta
    mkdir -p "$folder"
    set --
    for kind in $kinds; do
      cp "$out/skewed.fovea" "$folder/$kind.fovea" || die "no room for the files"
      set -- "$@" $kind "lookups --path $folder/$kind.fovea --records $many --theta $theta --threads 16 --buffer $pool \
        --durability none --translation $kind --hints $(hints_of $kind) --warmup ${quick:-15}s --duration ${quick:-30}s"
    done
    in_slices "$folder" "$@"
    # shellcheck disable=SC2086 # kinds are words
    printf '| theta %s, 16 threads |%s\n' $theta "$(beside_first "$folder" 5 $kinds)" >>"$out/skewed.md"
    rm -f "$folder"/*.fovea*
  done
  rm -f "$out"/skewed.fovea*
  cat "$out/skewed.md"
}

# Predictive Translation, figures 10 and 12, and the table of section 6.5. Nothing here is timed, but counters.
do_chains() {
  say chains
  "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.buffer.ChainLengths ${quick:+4096} >"$out/chains.md" \
    2>"$out/chains.txt" || say "chains failed: see $out/chains.txt"
  cat "$out/chains.md"
}

do_metadata() {
  say metadata
  "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.buffer.MetadataBytes >"$out/metadata.md" \
    2>"$out/metadata.txt" || say "metadata failed: see $out/metadata.txt"
  cat "$out/metadata.md"
}

# The processor's counters where it has some, as JMH takes them for each operation; else misses by simulation.
do_counters() {
  if command -v perf >/dev/null 2>&1 && perf stat -x, -e cycles,instructions true 2>&1 | grep -q '^[0-9]'; then
    jmh counters TranslationLadder -t 1 -p fill=0.5 -prof perfnorm ${quick:+-p bufferMiB=64}
    return
  fi
  say "counters: this processor gives none, so misses are simulated"
  "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.buffer.SimulatedMisses ${quick:+16384} ${quick:+20000} \
    >"$out/counters.md" 2>"$out/counters.txt" || say "counters failed: see $out/counters.txt"
  cat "$out/counters.md"
}

# The dissertation, figure 3.5: TicToc with timestamps on disk beside Focus-Sketch, by the size of the pool. Timestamps on
# disk have an eighth of it, in which each of the 8 threads needs some frames: so there are enough records.
do_fig35() {
  many=${quick:+100000}
  sizes=${quick:+20%,80%}
  measured=${quick:+$cell}
  measured=${measured:-$(awk "BEGIN { print 2 * $cell }")}
  warmup=${quick:+0.5}
  warmup=${warmup:-$(awk "BEGIN { print 2 * $cell }")}
  cells fig-3.5 --vary "pool=${sizes:-5%,10%,20%,40%,80%}" --vary timestamps=disk,focus-sketch \
    --then workload=read-intensive-high,read-intensive-medium --then threads=8 \
    ycsb run --path "$out/y.fovea" --durability none --records "${many:-500000}"
  drawn fig-3.5 "TicToc with timestamps on disk beside Focus-Sketch, by the size of the pool (figure 3.5)" \
    --over pool --series timestamps --each workload
  rm -f "$out"/y.fovea*
  measured=
  warmup=
}

# The dissertation, figures 4.9 to 4.12: fast storage. The paper takes a disk in memory; so does this, a device in memory
# behind a pool of a tenth. MVTO is left out, as there.
fast() {
  kept=$pairs
  pairs=
  for protocol in tictoc sto; do
    for store in $stores; do
      pairs=$pairs$protocol+$store,
    done
  done
  pairs=${pairs}two-phase-locking+-,occ+-
  many=${quick:+50000}
  where="--io memory --records ${many:-200000} --pool 10%"
  "$@"
  pairs=$kept
}

fast_cells() {
  # shellcheck disable=SC2086 # options are words
  cells "$1" --vary "protocol+timestamps=$pairs" --then "workload=$3" --then threads=16 ycsb run $where
  drawn "$1" "$2" --over protocol --series timestamps --each workload
}

fast_tpcc() {
  measured=${quick:+$cell}
  measured=${measured:-$(awk "BEGIN { print 1.5 * $cell }")}
  warmup=${quick:+0.5}
  warmup=${warmup:-$(awk "BEGIN { print 2.5 * $cell }")}
  cells fig-4.12 --vary "warehouses=${WAREHOUSES:-1,2}" --vary "protocol+timestamps=$pairs" \
    run --io memory --buffer 12m --mix half --threads 16
  drawn fig-4.12 "TPC-C, New-Order and Payment, 16 threads, fast storage (figure 4.12)" \
    --over protocol,warehouses --series timestamps
  measured=
  warmup=
}

do_fig49() {
  fast fast_cells fig-4.9 "Small transactions, fast storage (figure 4.9)" \
    write-intensive-high,write-intensive-medium,read-intensive-high,read-intensive-medium
}

do_fig410() {
  fast fast_cells fig-4.10 "Mixed transactions, fast storage (figure 4.10)" mixed-high,mixed-medium
}

do_fig411() {
  fast fast_cells fig-4.11 "Long transactions, fast storage (figure 4.11)" long
}

do_fig412() {
  fast fast_tpcc
}

# Fovea beside what a user would pick instead. Two of the engines are in no default build.
do_rivals() {
  say rivals
  command -v mvn >/dev/null 2>&1 || {
    say "rivals wants Maven, which knows where the other engines are"
    return
  }
  command -v java >/dev/null 2>&1 || JAVA_HOME=${JAVA_HOME:-$home}
  export "JAVA$(version_of "$java")_HOME=$home" JAVA_HOME="${JAVA_HOME:-$home}"
  (cd "$root" && mvn -B -q -ntp -Privals -pl jmh/rivals -am -DskipTests package </dev/null >&2) || {
    say "the build of jmh/rivals failed"
    return
  }
  module=$root/jmh/rivals/target
  if [ -n "$quick" ]; then
    set -- --records 20000 --slice 0.05 --warm-up 0 --memory 64 --heap 256 --beyond-records "${BEYOND:-40000}"
  else
    set -- --records "${RECORDS:-500000}" --slice 0.7 --warm-up 2 --beyond-records "${BEYOND:-2000000}" \
      --plot "$out/rivals.svg"
  fi
  "$java" -cp "$module/classes:$(cat "$module/rivals.classpath")" io.fovea.jmh.BesideOthers --rivals --dir "$out" \
    --rounds "$rounds" "$@" >"$out/rivals.md" 2>"$out/rivals.txt" || say "rivals ended with $?: see $out/rivals.txt"
  cat "$out/rivals.md"
}
