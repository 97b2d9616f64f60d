package io.fovea.explorer;

import io.fovea.ObjectSpec;
import io.fovea.TableMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A table as a map, whose operations are separate transactions. Each worker increments its entry,
 * and all workers read it.
 */
final class Maps {
  /** The stored class; public for its codec. */
  public record Counter(long value) {
    private Counter next() {
      return new Counter(value + 1);
    }
  }

  private static final Counter ONE = new Counter(1);
  private static final ObjectSpec<Long, Counter> SPEC =
      ObjectSpec.of("counters", Long.class, Counter.class);

  /** A lower bound of each entry, by worker; entries never decrease. */
  private final Map<Long, AtomicLong> least = new ConcurrentHashMap<>();

  private static void step(TableMap<Long, Counter> map, AtomicLong least, Worker worker) {
    long own = worker.id;
    long before = least.get();
    Counter now =
        switch (worker.random.nextInt(4)) {
          case 0 -> map.merge(own, ONE, (a, b) -> a.next());
          case 1 -> map.compute(own, (k, v) -> v == null ? ONE : v.next());
          case 2 -> {
            Counter old = map.putIfAbsent(own, ONE);
            yield old == null ? ONE : old;
          }
          default -> {
            Counter v = map.get(own);
            if (v == null) {
              yield new Counter(0);
            }
            Violation.unless(map.replace(own, v, v.next()), "only this worker increments " + own);
            yield v.next();
          }
        };
    Violation.unless(now.value >= before, "counter " + own + " is " + now + " after " + before);
    least.accumulateAndGet(now.value, Math::max);
  }

  static void step(Life life, Worker worker) {
    Maps own = life.state(Maps.class, Maps::new);
    TableMap<Long, Counter> map = life.db.table(SPEC).asMap();
    if (worker.random.nextInt(3) != 0) {
      step(map, own.least(worker.id), worker);
      return;
    }
    Map<Long, Long> before = new ConcurrentHashMap<>();
    own.least.forEach((k, v) -> before.put(k, v.get()));
    Map<Long, Counter> seen = worker.random.nextBoolean() ? map : map.descendingMap();
    long[] last = {seen == map ? -1 : Long.MAX_VALUE};
    seen.forEach(
        (k, v) -> {
          Violation.unless(
              seen == map ? k > last[0] : k < last[0], "key " + k + " follows " + last[0]);
          last[0] = k;
          Violation.unless(
              v.value >= before.getOrDefault(k, 0L),
              "counter " + k + " was " + before.get(k) + " but is " + v);
          before.remove(k);
        });
    before.values().removeIf(v -> v == 0);
    Violation.unless(before.isEmpty(), "counters are missing: " + before);
  }

  private AtomicLong least(long worker) {
    return least.computeIfAbsent(worker, h -> new AtomicLong());
  }
}
