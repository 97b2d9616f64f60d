# shellcheck shell=sh
# Parts of run.sh for experiments of the papers that have no page; sourced by it.
# README.md lists all figures and tables with the part that measures each.

# repair LETTER...: LIPAH, figure 6: the paper's three mixes and number of lookups.
do_repair() {
  lookups=${quick:+2000}
  lookups=${lookups:-${LOOKUPS:-10000000}}
  for letter; do
    mix=10/10/80
    threads=1
    [ $letter = b ] && mix=50/10/40
    [ $letter = c ] && threads=10
    say "repair-6$letter: $lookups lookups each, pages/frames/slots $mix, $threads threads"
    printf '\nFigure 6%s: pages/frames/slots %s, %s threads, %s lookups each\n\n' $letter $mix $threads "$lookups"
    printed "repair-6$letter" "$java" -Xmx1g --enable-native-access=ALL-UNNAMED -Dmix=$mix -Dthreads=$threads \
      -Dlookups="$lookups" -cp "$jar" io.fovea.SecondaryLookups repair ${quick:+20000}
  done
}

# LIPAH's engines, of which 5 and 6 are vmcache, and two more: translation and hints.
hint_engines="latched,none latched,frame latched,page latched,both virtual,none virtual,page predictive,none predictive,page"

# LIPAH, figure 3b, on data tens of times the pool: eight engines in slices, each with a copy of the file, from an empty pool,
# with clients on any warehouse. The paper has 2.5 times the pool, 40 threads, 200 s. Consistency is not checked, as that takes
# longest with such a pool.
do_beyond() {
  warehouses=${WAREHOUSES:-${quick:+1}}
  warehouses=${warehouses:-6}
  say "beyond: loading $warehouses warehouses"
  JAVA_HOME=$home "$root/tpcc/tpcc.sh" load --path "$out/beyond.fovea" --durability none --buffer 1g \
    --warehouses "$warehouses" --threads 2 >"$out/beyond-load.txt" 2>&1 ||
    die "the load ended with $?: see $out/beyond-load.txt"
  # POOLS may be a fraction, such as 2.5, by which sh cannot divide.
  pool=$(wc -c <"$out/beyond.fovea" | awk -v pools="${POOLS:-25}" '{ printf "%d", $1 / pools }')
  numbers="2 16"
  [ -n "$quick" ] && numbers=16
  for threads in $numbers; do
    folder=$out/beyond-$threads
    mkdir -p "$folder"
    set --
    for engine in $hint_engines; do
      cp "$out/beyond.fovea" "$folder/$engine.fovea" || die "no space for the files"
      set -- "$@" "$(printf '%s' "$engine" | sed 's/,/, hints /')" "run --path $engine.fovea --durability none \
        --buffer $pool --threads $threads --no-affinity --no-check --translation ${engine%,*} --hints ${engine#*,}"
    done
    slices "$folder" 2 7 "$@"
    rm -f "$folder"/*.fovea*
    table "$folder" "beyond memory, ${POOLS:-25} pools, threads: $threads"
  done
  rm -f "$out"/beyond.fovea*
}

# hints_of TRANSLATION: frame hints for swizzled, none for the others.
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
  # The minimum for 16 threads.
  [ "$pool" -ge 2097152 ] || pool=2097152
  folder=$out/skewed-fifth
  mkdir -p "$folder"
  for kind in latched optimistic predictive swizzled virtual; do
    cp "$out/skewed.fovea" "$folder/$kind.fovea" || die "no space for the files"
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

# Predictive Translation, figures 10 and 12, and the table of section 6.5. Nothing is timed; counters are read.
do_chains() {
  say chains
  printed chains "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.buffer.ChainLengths ${quick:+4096}
}

do_metadata() {
  say metadata
  printed metadata "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.buffer.MetadataBytes
}

# The processor's counters per operation, by JMH; if there are none, misses by simulation.
do_counters() {
  if command -v perf >/dev/null 2>&1 && perf stat -x, -e cycles,instructions true 2>&1 | grep -q '^[0-9]'; then
    jmh counters TranslationLadder -t 1 -p fill=0.5 -prof perfnorm ${quick:+-p bufferMiB=64}
    return
  fi
  say "counters: not available on this processor, so misses are simulated"
  printed counters "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.buffer.SimulatedMisses \
    ${quick:+16384} ${quick:+20000}
}

# Fovea and its alternatives. Two of the engines are in no default build.
do_rivals() {
  say rivals
  command -v mvn >/dev/null 2>&1 || {
    say "rivals needs Maven to resolve the other engines"
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
  printed rivals "$java" -cp "$module/classes:$(cat "$module/rivals.classpath")" io.fovea.jmh.StoreComparison --rivals \
    --dir "$out" "$@"
}
