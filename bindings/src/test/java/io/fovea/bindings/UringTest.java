package io.fovea.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Runs on any machine: an available and an unavailable io_uring are both accepted. */
class UringTest {

  @Test
  void probeReturnsAValue() {
    switch (Uring.probe()) {
      case Availability.Available yes -> {
        assertEquals(Uring.LIBRARY, yes.library());
        assertTrue(yes.features() != 0);
        assertTrue(yes.describe().startsWith("liburing.so.2 on kernel "), yes.describe());
      }
      case Availability.Unavailable no -> assertTrue(!no.reason().isEmpty());
    }
  }

  @Test
  void aVirtualThreadMayAsk() throws InterruptedException {
    AtomicReference<Availability> answer = new AtomicReference<>();
    Thread.ofVirtual().start(() -> answer.set(Uring.probe())).join();
    assertEquals(Uring.probe(), answer.get());
  }

  @Test
  void aMissingLibraryIsAValue() {
    var answer =
        assertInstanceOf(
            Availability.Unavailable.class, Uring.probe("libfovea-no-such-thing.so.9", List.of()));
    assertEquals(0, answer.errno());
    assertTrue(answer.describe().contains("install liburing2"), answer.describe());
  }

  @Test
  void aLibraryThatIsTooOldIsAValue() {
    var answer =
        assertInstanceOf(
            Availability.Unavailable.class,
            Uring.probe("libc.so.6", List.of("io_uring_get_events")));
    assertTrue(answer.describe().contains("older than 2.3"), answer.describe());
  }

  @Test
  void refusalsSayWhatToDo() {
    assertTrue(Uring.refused(-Errno.EPERM).describe().contains("seccomp"));
    assertTrue(Uring.refused(Errno.ENOSYS).describe().contains("has no io_uring"));
    assertTrue(Uring.refused(Errno.ENOMEM).describe().contains("ulimit -l"));
    assertTrue(Uring.refused(Errno.EMFILE).describe().contains("descriptor"));
    var other = Uring.refused(-Errno.EIO);
    assertEquals(Errno.EIO, other.errno());
    assertTrue(other.describe().endsWith("EIO (5, Input/output error)"), other.describe());
  }
}
