package io.fovea.explorer;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * The expected state of the database, kept outside of it: which writes were attempted, acknowledged
 * and made durable, and which sequence values were returned. In memory, or in a file that survives
 * a kill. Each slot has one writer at a time.
 */
final class Truth {
  static final int HANDS_MAX = 64;
  private static final int ATTEMPTED = 0;
  private static final int COMMITTED = HANDS_MAX;
  private static final int DURABLE = 2 * HANDS_MAX;
  private static final int SEQUENCE = 3 * HANDS_MAX;
  private static final int CLOCK = SEQUENCE + 1;
  private static final int CLEAN = SEQUENCE + 2;
  private static final int SLOTS = SEQUENCE + 8;

  private final ByteBuffer slots;

  private Truth(ByteBuffer slots) {
    this.slots = slots;
  }

  static Truth inMemory() {
    return new Truth(ByteBuffer.allocateDirect(SLOTS * 8));
  }

  static Truth in(Path file) throws IOException {
    try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
      return new Truth(f.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, SLOTS * 8));
    }
  }

  private long get(int slot) {
    return slots.getLong(slot * 8);
  }

  private void set(int slot, long value) {
    slots.putLong(slot * 8, value);
  }

  /** Registers a new write of a hand. */
  synchronized long attempt(int hand) {
    long n = get(ATTEMPTED + hand) + 1;
    set(ATTEMPTED + hand, n);
    return n;
  }

  synchronized void committed(int hand, long n, boolean durable) {
    set(COMMITTED + hand, Math.max(n, get(COMMITTED + hand)));
    if (durable) {
      set(DURABLE + hand, Math.max(n, get(DURABLE + hand)));
    }
  }

  synchronized long attempted(int hand) {
    return get(ATTEMPTED + hand);
  }

  /** Returns the least number of each hand's write after a kill, or after a close. */
  synchronized long[] least(boolean closed) {
    long[] all = new long[HANDS_MAX];
    for (int i = 0; i < HANDS_MAX; i++) {
      all[i] = get((closed ? COMMITTED : DURABLE) + i);
    }
    return all;
  }

  /** Sets what is durable at a power failure; later syncs of the old disk do not count. */
  synchronized void promised(long[] durable, long sequenceTop) {
    for (int i = 0; i < HANDS_MAX; i++) {
      set(DURABLE + i, durable[i]);
    }
    set(SEQUENCE, sequenceTop);
  }

  /** Sets the state that a recovery found as the new state. */
  synchronized void found(int hand, long n) {
    set(COMMITTED + hand, n);
    set(DURABLE + hand, n);
  }

  synchronized long sequenceTop() {
    return get(SEQUENCE);
  }

  synchronized void gave(long value) {
    set(SEQUENCE, Math.max(value, get(SEQUENCE)));
  }

  synchronized long clock() {
    return get(CLOCK);
  }

  synchronized void clock(long millis) {
    set(CLOCK, Math.max(millis, get(CLOCK)));
  }

  synchronized boolean clean() {
    return get(CLEAN) != 0;
  }

  synchronized void clean(boolean is) {
    set(CLEAN, is ? 1 : 0);
  }

  /** Forgets everything, for a new database. */
  synchronized void forget() {
    long clock = clock();
    for (int i = 0; i < SLOTS; i++) {
      set(i, 0);
    }
    clock(clock);
  }
}
