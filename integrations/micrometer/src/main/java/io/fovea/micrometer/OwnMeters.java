package io.fovea.micrometer;

import io.fovea.error.InvalidUseException;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * The meters that one binding has registered. A registry answers a second registration of the same
 * name and tags with the existing meter, so two bindings would share it, and the first one closed
 * would remove it. Here the second binding is refused.
 *
 * <p>Ids are compared as the registry has them, after its filters. No lock is held while the
 * registry is called, because its listeners may read meters. Thread-safe.
 */
final class OwnMeters {
  /** By registry and id; guarded by this map. */
  private static final Map<MeterRegistry, Map<Meter.Id, Meter>> OWNED = new WeakHashMap<>();

  private final MeterRegistry registry;

  /** Guarded by {@link #OWNED}. */
  private final List<Meter> meters = new ArrayList<>();

  OwnMeters(MeterRegistry registry) {
    this.registry = registry;
  }

  /**
   * Adds a meter that was just registered.
   *
   * @throws InvalidUseException if it belongs to another binding
   */
  <M extends Meter> M add(M meter) {
    Meter other;
    synchronized (OWNED) {
      other =
          OWNED.computeIfAbsent(registry, r -> new HashMap<>()).putIfAbsent(meter.getId(), meter);
      if (other == null) {
        meters.add(meter);
      } else if (meters.contains(other)) {
        return meter; // a filter removes the tag that distinguishes two meters of this database
      }
    }
    if (other != null) {
      if (other != meter) {
        registry.remove(meter); // the other binding's was removed during this registration
      }
      throw new InvalidUseException(
          "The registry has the meter "
              + meter.getId()
              + " of another database already, or of this one: they have the same name, id and"
              + " tags. Add a tag that tells them apart: new FoveaMetrics(database, tags).");
    }
    return meter;
  }

  void remove(Meter meter) {
    registry.remove(meter);
    synchronized (OWNED) {
      meters.remove(meter);
      forget(meter);
    }
  }

  void removeAll() {
    List<Meter> all;
    synchronized (OWNED) {
      all = List.copyOf(meters);
    }
    all.forEach(this::remove);
  }

  private void forget(Meter meter) {
    Map<Meter.Id, Meter> of = OWNED.get(registry);
    if (of != null && of.remove(meter.getId(), meter) && of.isEmpty()) {
      OWNED.remove(registry);
    }
  }
}
