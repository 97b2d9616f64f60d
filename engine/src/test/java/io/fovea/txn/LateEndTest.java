package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.config.Protocol;
import io.fovea.support.Records;
import io.fovea.txn.FaultInjection.Probe;
import io.fovea.txn.FaultInjection.Stage;
import io.fovea.txn.TxFixture.Client;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A transaction may end after a close has released the memory of locks and timestamps. It then
 * reads zeros, and must end without an error.
 */
class LateEndTest {

  static Stream<Arguments> ends() {
    return Arrays.stream(Protocol.values())
        .flatMap(
            kind ->
                Stream.of(
                    Arguments.of(kind, null, false),
                    Arguments.of(kind, null, true),
                    Arguments.of(kind, Stage.VALIDATED, true),
                    Arguments.of(kind, Stage.INSTALLING, true),
                    Arguments.of(kind, Stage.INSTALLED, true)));
  }

  /** Closes the engine at a stage of the commit; null: in the body. */
  @ParameterizedTest
  @MethodSource("ends")
  void endsInAClosedEngine(Protocol kind, @Nullable Stage stage, boolean commits) {
    AtomicReference<@Nullable Stage> closeAt = new AtomicReference<>();
    AtomicReference<@Nullable TxFixture> opened = new AtomicReference<>();
    Probe closing =
        (at, locked) -> {
          if (at == closeAt.get()) {
            opened.get().engine.close();
          }
        };
    try (TxFixture f =
        new TxFixture(
            Records.with(Configs.contexts(8), "protocol", kind),
            512,
            2,
            FaultInjection.NONE.with(closing))) {
      opened.set(f);
      f.run(
          c -> {
            c.put(f.tree(), "a", "1");
            c.put(f.tree(), "b", "1");
            return null;
          });
      Client late = new Client(f.begin());
      assertEquals("1", late.get(f.tree(), "a"));
      assertEquals("1", late.get(f.tree(), "b"));
      late.put(f.tree(), "b", "2");
      late.put(f.tree(), "c", "2");
      late.delete(f.tree(), "a");
      closeAt.set(stage);
      if (stage == null) {
        f.engine.close();
      }
      if (commits) {
        try {
          late.commit();
        } catch (RuntimeException e) {
          // Any exception is acceptable; an Error is not.
        }
      } else {
        late.rollback();
      }
      assertEquals(0, f.engine.active());
    }
  }
}
