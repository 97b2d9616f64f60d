package org.apache.kafka.streams.state.internals;

import io.fovea.streams.FoveaStores;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Kafka's own tests of session stores; in Kafka's package because the hooks are package-private.
 */
public class FoveaSessionStoreTest extends AbstractSessionBytesStoreTest {
  @Override
  <K, V> SessionStore<K, V> buildSessionStore(
      long retentionPeriod, Serde<K> keySerde, Serde<V> valueSerde) {
    return Stores.sessionStoreBuilder(
            FoveaStores.sessionStore("session-store", Duration.ofMillis(retentionPeriod)),
            keySerde,
            valueSerde)
        .build();
  }

  /** Retention is exact, as in the in-memory store. */
  @Override
  StoreType storeType() {
    return StoreType.InMemoryStore;
  }
}
