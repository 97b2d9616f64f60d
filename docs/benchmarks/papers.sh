# shellcheck shell=sh
# Parts of run.sh that make the experiments of the papers which have no page of their own; sourced by it.
# README.md has the list of all figures and tables, and which part makes which.

# LIPAH, figure 6: the paper's three mixes, with as many lookups as there. repair LETTER...
do_repair() {
  lookups=${quick:+2000}
  lookups=${lookups:-${LOOKUPS:-10000000}}
  for letter; do
    mix=10/10/80
    threads=1
    [ $letter = b ] && mix=50/10/40
    [ $letter = c ] && threads=10
    say "repair-6$letter: $lookups lookups of each, pages/frames/slots $mix, $threads threads"
    "$java" -Xmx1g --enable-native-access=ALL-UNNAMED -Dmix=$mix -Dthreads=$threads -Dlookups="$lookups" \
      -cp "$jar" io.fovea.SecondaryLookups repair ${quick:+20000} >"$out/repair-6$letter.md" 2>"$out/repair-6$letter.txt" ||
      say "repair-6$letter failed: see $out/repair-6$letter.txt"
    printf '\nFigure 6%s: pages/frames/slots %s, %s threads, %s lookups of each\n\n' $letter $mix $threads "$lookups"
    cat "$out/repair-6$letter.md"
  done
}

# LIPAH's engines, of which 5 and 6 are vmcache, and two more: the translation, and which hints.
hint_engines="latched,none latched,frame latched,page latched,both virtual,none virtual,page predictive,none predictive,page"

# LIPAH, figure 3b, with data of tens of times the pool: eight engines in slices, each with a copy of the file, from
# an empty pool on, clients on any warehouse. The paper has 2.5 times the pool, 40 threads, 200 s. What is left is not
# checked: through such a pool that takes longer than all else.
do_beyond() {
  warehouses=${WAREHOUSES:-${quick:+1}}
  warehouses=${warehouses:-6}
  say "beyond: loading $warehouses warehouses"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" load --path "$out/beyond.fovea" --durability none --buffer 1g \
    --warehouses "$warehouses" --threads 2 >"$out/beyond-load.txt" 2>&1 ||
    die "the load ended with $?: see $out/beyond-load.txt"
  pool=$(($(wc -c <"$out/beyond.fovea") / ${POOLS:-25}))
  numbers="2 16"
  [ -n "$quick" ] && numbers=16
  for threads in $numbers; do
    folder=$out/beyond-$threads
    mkdir -p "$folder"
    set --
    for engine in $hint_engines; do
      cp "$out/beyond.fovea" "$folder/$engine.fovea" || die "no room for the files"
      set -- "$@" "$(printf '%s' "$engine" | sed 's/,/, hints /')" "run --path $engine.fovea --durability none \
        --buffer $pool --threads $threads --no-affinity --no-check --translation ${engine%,*} --hints ${engine#*,}"
    done
    slices "$folder" 2 7 "$@"
    rm -f "$folder"/*.fovea*
    table "$folder" "beyond memory, ${POOLS:-25} pools, threads: $threads"
  done
  rm -f "$out"/beyond.fovea*
}

# What of the tables is enough to tell them apart; hints stand for themselves elsewhere.
hints_of() {
  [ "$1" = swizzled ] && printf frame || printf none
}

# Predictive Translation, figures 5 and 6: random lookups, uniform and with the paper's skew of 0.9, in memory and
# with a pool of a fifth, under the translations that are not steps of the ladder, without hints.
do_skewed() {
  many=${quick:+20000}
  many=${many:-1500000}
  thetas="0 0.9"
  cells="0,1 0.9,1 0.9,2"
  [ -n "$quick" ] && thetas=0.9 && cells=0.9,2
  for pair in $cells; do
    theta=${pair%,*}
    threads=${pair#*,}
    set --
    for kind in latched optimistic predictive swizzled virtual direct; do
      set -- "$@" $kind "lookups --io memory --records $many --theta $theta --threads $threads --translation $kind \
        --hints $(hints_of $kind)"
    done
    slices "$out/skewed-$theta-$threads" 1.5 3 "$@"
    table "$out/skewed-$theta-$threads" "in memory, skew $theta, threads: $threads"
  done
  say "skewed: loading $many records"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" lookups --path "$out/skewed.fovea" --records "$many" --threads 2 --buffer 512m \
    --durability none --duration 1s --warmup 0s >"$out/skewed-load.txt" 2>&1 ||
    die "the load ended with $?: see $out/skewed-load.txt"
  pool=$(($(wc -c <"$out/skewed.fovea") / 5))
  # In which 16 threads have room.
  [ "$pool" -ge 2097152 ] || pool=2097152
  folder=$out/skewed-fifth
  mkdir -p "$folder"
  for kind in latched optimistic predictive swizzled virtual; do
    cp "$out/skewed.fovea" "$folder/$kind.fovea" || die "no room for the files"
  done
  for theta in $thetas; do
    set --
    for kind in latched optimistic predictive swizzled virtual; do
      set -- "$@" $kind "lookups --path $kind.fovea --records $many --theta $theta --threads 16 --buffer $pool \
        --durability none --translation $kind --hints $(hints_of $kind)"
    done
    slices "$folder" 2 4 "$@"
    table "$folder" "a pool of a fifth, skew $theta, 16 threads"
  done
  rm -f "$folder"/*.fovea* "$out"/skewed.fovea*
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
# disk have an eighth of it, in which each of the 8 threads needs some frames: so there are enough records. They are loaded
# with all of them in memory, and not checked after each run: through such a pool both take longer than all else.
do_fig35() {
  many=${quick:+100000}
  sizes=${quick:+20%,80%}
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" ycsb load --path "$out/y.fovea" --durability none --records "${many:-500000}" \
    --workload read-intensive-high --threads 2 --buffer 512m >"$out/fig-3.5-load.txt" 2>&1 ||
    die "the load ended with $?: see $out/fig-3.5-load.txt"
  measured=$(seconds 3 "$cell")
  warmup=$(seconds 1 0.2)
  cells fig-3.5 --vary "pool=${sizes:-5%,10%,20%,40%,80%}" --vary timestamps=disk,focus-sketch \
    --then workload=read-intensive-high,read-intensive-medium --then threads=8 \
    ycsb run --path "$out/y.fovea" --durability none --records "${many:-500000}" --no-check
  drawn fig-3.5 "TicToc with timestamps on disk beside Focus-Sketch, by the size of the pool (figure 3.5)" \
    --over pool --series timestamps --each workload --beside timestamps=focus-sketch
  rm -f "$out"/y.fovea*
  measured=
  warmup=
}

# The dissertation, figures 4.9 to 4.12: fast storage. The paper takes a disk in memory; so does this, a device in memory
# behind a pool of a tenth. MVTO is left out, as there. FAST names others than the pairs that the paper's conclusions are
# about, such as all of them: FAST="$pairs".
fast() {
  kept=$pairs
  pairs=${FAST:-tictoc+disk,tictoc+memory,tictoc+focus-sketch,sto+memory,sto+focus-sketch,two-phase-locking+-,occ+-}
  many=${quick:+50000}
  where="--io memory --records ${many:-200000} --pool 10%"
  measured=$(seconds 3 "$cell")
  warmup=$(seconds "${LONE:-1}" 0.2)
  "$@"
  LONE=
  pairs=$kept
  measured=
  warmup=
}

fast_cells() {
  # shellcheck disable=SC2086 # options are words
  cells "$1" --vary "protocol+timestamps=$pairs" --then "workload=$3" --then threads=16 ycsb run $where --no-check
  drawn "$1" "$2" --over protocol,timestamps --each workload --beside protocol=tictoc,timestamps=focus-sketch |
    sed 's/ (none) / goodput /'
}

fast_tpcc() {
  # Each cell has a JVM of its own here.
  warmup=$(seconds 3 0.2)
  few=${WAREHOUSES:-${quick:+1}}
  cells fig-4.12 --vary "warehouses=${few:-1,2}" --vary "protocol+timestamps=$pairs" \
    run --io memory --buffer 12m --mix half --threads 16 --no-check
  drawn fig-4.12 "TPC-C, New-Order and Payment, 16 threads, fast storage (figure 4.12)" \
    --over protocol,timestamps --series warehouses --beside protocol=tictoc,timestamps=focus-sketch
}

do_fig49() {
  fast fast_cells fig-4.9 "Small transactions, fast storage (figure 4.9)" \
    write-intensive-high,write-intensive-medium,read-intensive-high,read-intensive-medium
}

do_fig410() {
  fast fast_cells fig-4.10 "Mixed transactions, fast storage (figure 4.10)" mixed-high,mixed-medium
}

do_fig411() {
  # One workload, so nothing warms the JVM before it.
  LONE=3
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
  module=$root/jmh/rivals/target
  changed=$(find "$root/pom.xml" "$root/bindings/src/main" "$root/engine/src/main" "$root/jmh/src/main" \
    "$root/jmh/rivals/pom.xml" "$root/jmh/rivals/src/main" -newer "$module/built" -type f 2>&1 | head -n 1)
  if [ -n "$changed" ]; then
    (cd "$root" && mvn -B -q -ntp -Privals -pl jmh/rivals -am -DskipTests package </dev/null >&2) ||
      die "the build of jmh/rivals failed"
    : >"$module/built"
  fi
  if [ -n "$quick" ]; then
    set -- --records 5000 --slice 0.05 --warm-up 0 --memory 64 --heap 256 --beyond-records "${BEYOND:-20000}" --rounds 1
  else
    set -- --records "${RECORDS:-500000}" --slice "$(seconds 0.7)" --warm-up 2 --rounds 5 \
      --beyond-records "${BEYOND:-2000000}" --plot "$out/rivals.svg"
  fi
  "$java" -cp "$module/classes:$(cat "$module/rivals.classpath")" io.fovea.jmh.BesideOthers --rivals --dir "$out" \
    "$@" >"$out/rivals.md" 2>"$out/rivals.txt" || say "rivals ended with $?: see $out/rivals.txt"
  cat "$out/rivals.md"
}
