# shellcheck shell=sh
# Measures the rows of features.md; sourced by run.sh.
#
#   docs/benchmarks/run.sh features              all rows: at most MINUTES (20)
#   docs/benchmarks/run.sh features load drop    some rows
#   SCALE=100 docs/benchmarks/run.sh features    tables of a hundredth, as a smoke test
#
#   snapshot  TPC-C with an open snapshot
#   load      bulk loads, compared with the speed of the device
#   open      opening of a closed file of 10 GB
#   export    an export of 10 million records during writes
#   index     an index build on 10 million records during writes
#   drop      the drop of a table of 10 GB during writes
#   range     the removal of a range of a million records
#   count     an exact count
#   prices    operations of the budget compared with older builds: the cost of snapshots and counts to commits
#
# A row that fails or for which no time is left is listed at the end; the others still run. Each value is appended to
# features.tsv at once, so an interrupted row keeps its first rounds. OLD_JARS is a folder for the builds that prices
# compares with; they are built once.

feature_rows='snapshot load open export index drop range count prices'

# The last commits without snapshots, and without counts.
before_snapshots=b104e16
before_counts=ae3a021

# is_feature NAME: whether there is a row of that name.
is_feature() {
  case " $feature_rows " in
    *" $1 "*) return 0 ;;
    *) return 1 ;;
  esac
}

# figure ROW WHAT UNIT AIM VALUE: writes one value, in the format of jmh's Figures.
figure() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" >>"$out/features.tsv"
}

# scaled NUMBER MIN: the number divided by SCALE, at least MIN.
scaled() {
  awk "BEGIN { n = int($1 / $scale); print n < $2 ? $2 : n }"
}

# within COMMAND...: runs it for at most the remaining time.
within() {
  left=$((features_end - $(date +%s)))
  [ "$left" -gt 0 ] || left=1
  if command -v timeout >/dev/null 2>&1; then
    timeout -k 10 "$left" "$@"
  else
    "$@"
  fi
}

# program ROW CLASS ARGUMENT...: runs a benchmark with a main class on a file.
program() {
  name=$1
  class=$2
  shift 2
  within "$java" -Xmx1g --enable-native-access=ALL-UNNAMED -cp "$jar" "io.fovea.jmh.$class" \
    --path "$out/feature.fovea" --figures "$out/features.tsv" "$@" \
    >"$out/features-$name.md" 2>"$out/features-$name.txt"
}

feature_snapshot() {
  r=1
  while [ "$r" -le "$rounds" ]; do
    for kind in without beside; do
      option=
      [ $kind = beside ] && option=--snapshot
      # shellcheck disable=SC2086 # no option is no word
      JAVA_HOME=$home within "$root/tpcc/tpcc.sh" run --path "$out/feature.fovea" --durability async \
        --warehouses 2 --threads 2 $option --warmup "$(scaled 10 1)s" --duration "$(scaled 10 1)s" \
        --json "$out/features-$kind-$r.tpcc.json" >"$out/features-snapshot-$kind-$r.txt" 2>&1 || return 1
      rm -f "$out"/feature.fovea*
    done
    without=$(per_second "without-$r")
    beside=$(per_second "beside-$r")
    figure snapshot 'TPC-C without a snapshot' 'tx/s' '' "$without"
    figure snapshot 'TPC-C with an open snapshot' 'tx/s' '' "$beside"
    figure snapshot 'with / without' '' '>= 0.85' "$(awk "BEGIN { printf \"%.4f\", $beside / $without }")"
    r=$((r + 1))
  done
}

# per_second NAME: transactions per second of a run of the driver.
per_second() {
  sed -n 's/^ *"transactionsPerSecond": *\([0-9.]*\).*/\1/p' "$out/features-$1.tpcc.json" | head -n 1
}

feature_load() {
  program load BulkLoad --records "$(scaled 10000000 1000)" --rounds "$rounds"
}

# A page of 4 KiB has 32 of these records.
feature_open() {
  program open Openings --load --records "$(scaled 80000000 1000)" || return 1
  r=1
  while [ "$r" -le "$rounds" ]; do
    program "open-$r" Openings || return 1
    r=$((r + 1))
  done
}

feature_export() {
  program export SnapshotExport --records "$(scaled 10000000 1000)" --rounds "$rounds"
}

feature_index() {
  program index ConcurrentWriters --operations index --records "$(scaled 10000000 1000)" --rounds "$rounds" --rest "$(scaled 10 1)"
}

# A page of 4 KiB has 3 records of 1,024 bytes: 7.5 million are 10 GB.
feature_drop() {
  program drop ConcurrentWriters --operations drop --records "$(scaled 7500000 1000)" --pad 1000 --rounds "$rounds" --rest "$(scaled 10 1)"
}

feature_range() {
  program range RangeDelete --records "$(scaled 1000000 1000)" --rounds "$rounds"
}

feature_count() {
  within "$java" --enable-native-access=ALL-UNNAMED -jar "$jar" 'TableCounts' -f 1 -wi 3 -i "$rounds" \
    -p records="$(scaled 1000000 1000)" -rf json -rff "$out/features-count.jmh.json" >"$out/features-count.txt" 2>&1 ||
    return 1
  # Lines such as "Iteration   1: 123.456 ns/op" follow the name of the benchmark.
  awk -F '[:/]' '/^# Benchmark:/ { split($0, w, "."); name = w[length(w)] }
    /^Iteration +[0-9]+: / && name == "count" { split($2, v, " "); print "count\ta count of a table\tns\t<= 1000\t" v[1] }
    /^ +counted: / { split($2, v, " "); if (measured) print "count\ta count during writes\tns\t\t" v[1] }
    /^Iteration +[0-9]+: / { measured = 1 } /^# Warmup Iteration/ { measured = 0 }' \
    "$out/features-count.txt" | grep -v 'Result' >>"$out/features.tsv"
}

# old_jar COMMIT: builds the benchmarks' jar of an older commit if it is missing.
old_jar() {
  old=$old_jars/$1.jar
  [ -f "$old" ] && return 0
  say "building $1"
  mkdir -p "$old_jars" || return 1
  tree=$out/tree-$1
  git -C "$root" worktree add -f --detach "$tree" "$1" >"$out/features-build-$1.txt" 2>&1 || return 1
  (cd "$tree" && within mvn -B -q -ntp -pl jmh -am -Dmaven.test.skip=true -Dmaven.javadoc.skip=true -Dmaven.source.skip=true package </dev/null) \
    >>"$out/features-build-$1.txt" 2>&1 &&
    cp "$tree/jmh/target/benchmarks.jar" "$old.new" && mv "$old.new" "$old"
  built=$?
  git -C "$root" worktree remove --force "$tree" >>"$out/features-build-$1.txt" 2>&1
  return $built
}

# prices_of COMMIT WHAT OPERATION...: the cost of operations divided by that in the older commit.
prices_of() {
  commit=$1
  what=$2
  shift 2
  old_jar "$commit" || return 1
  within "$java" --enable-native-access=ALL-UNNAMED -cp "$jar" io.fovea.jmh.BudgetComparison --jvms 1 \
    --rounds "$(scaled 400 4)" --records "$(scaled 100000 1000)" "$old_jars/$commit.jar" "$jar" "$@" \
    >"$out/features-prices-$commit.md" 2>"$out/features-prices-$commit.txt" || return 1
  # | operation | before, ns | after, ns | after / before | least | most |
  sed -n '3,$p' "$out/features-prices-$commit.md" | while IFS='|' read -r _ operation before after _ least most _; do
    for value in $least $most; do
      figure prices "$what:$operation"'now / then' '' "" "$value"
    done
    figure prices "$what:$operation"'then' ns '' "$(echo "$before" | tr -d ' ')"
    figure prices "$what:$operation"'now' ns '' "$(echo "$after" | tr -d ' ')"
  done
}

feature_prices() {
  old_jars=${OLD_JARS:-$root/jmh/target/old}
  prices_of $before_counts 'since before counts' insert delete one_update &&
    prices_of $before_snapshots 'since before snapshots' point_read one_update begin_and_commit
}

# do_features [ROW...]
do_features() {
  [ $# -gt 0 ] || set -- $feature_rows
  scale=${SCALE:-${quick:+1000}}
  scale=${scale:-1}
  features_end=$(($(date +%s) + ${MINUTES:-20} * 60))
  rm -f "$out/features.tsv" "$out/features-failed.txt"
  for row; do
    is_feature "$row" || die "features has no row $row: $feature_rows"
  done
  for row; do
    if [ "$(date +%s)" -ge "$features_end" ]; then
      printf '%s\tno time was left\n' "$row" >>"$out/features-failed.txt"
      continue
    fi
    say "features: $row"
    began=$(date +%s)
    if ! "feature_$row"; then
      why="failed after $(($(date +%s) - began)) s"
      [ "$(date +%s)" -ge "$features_end" ] && why="was stopped after ${MINUTES:-20} minutes"
      printf '%s\t%s: see %s\n' "$row" "$why" "$(printf '%s ' "$out"/features-"$row"*.txt)" >>"$out/features-failed.txt"
      say "features: $row $why"
    else
      say "features: $row took $(($(date +%s) - began)) s"
    fi
    rm -f "$out"/feature.fovea*
  done
  "$java" -XX:TieredStopAtLevel=1 "$here/Features.java" "$out" | tee "$out/features.md"
}
