package io.fovea.support;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/**
 * Pauses before operations of a {@link SimDisk}, as a real device has. Concurrent operations then
 * interleave in more ways than on a disk that answers immediately.
 *
 * <pre>
 *   disk.onOperation(new Pauses(16));   one operation of 16 waits for up to 3 ms, and some yield
 * </pre>
 */
public final class Pauses implements LongConsumer {
  private static final int NANOS_MAX = 3_000_000;

  private final int one;

  /** Pauses before one in {@code one} operations. */
  public Pauses(int one) {
    this.one = one;
  }

  @Override
  public void accept(long operation) {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    if (random.nextInt(one) == 0) {
      LockSupport.parkNanos(random.nextInt(NANOS_MAX));
    } else if (random.nextInt(4) == 0) {
      Thread.yield();
    }
  }
}
