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
final class ExpectedState {
  static final int WORKERS_MAX = 64;
  private static final int ATTEMPTED = 0;
  private static final int COMMITTED = WORKERS_MAX;
  private static final int DURABLE = 2 * WORKERS_MAX;
  private static final int SEQUENCE = 3 * WORKERS_MAX;
  private static final int CLOCK = SEQUENCE + 1;
  private static final int CLEAN = SEQUENCE + 2;
  private static final int SLOTS = SEQUENCE + 8;

  private final ByteBuffer slots;

  private ExpectedState(ByteBuffer slots) {
    this.slots = slots;
  }

  static ExpectedState inMemory() {
    return new ExpectedState(ByteBuffer.allocateDirect(SLOTS * 8));
  }

  static ExpectedState in(Path file) throws IOException {
    try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
      return new ExpectedState(f.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, SLOTS * 8));
    }
  }

  private long get(int slot) {
    return slots.getLong(slot * 8);
  }

  private void set(int slot, long value) {
    slots.putLong(slot * 8, value);
  }

  /** Registers a new write of a worker. */
  synchronized long attempt(int worker) {
    long n = get(ATTEMPTED + worker) + 1;
    set(ATTEMPTED + worker, n);
    return n;
  }

  synchronized void committed(int worker, long n, boolean durable) {
    set(COMMITTED + worker, Math.max(n, get(COMMITTED + worker)));
    if (durable) {
      set(DURABLE + worker, Math.max(n, get(DURABLE + worker)));
    }
  }

  synchronized long attempted(int worker) {
    return get(ATTEMPTED + worker);
  }

  /** Returns the least number of each worker's write after a kill, or after a close. */
  synchronized long[] least(boolean closed) {
    long[] all = new long[WORKERS_MAX];
    for (int i = 0; i < WORKERS_MAX; i++) {
      all[i] = get((closed ? COMMITTED : DURABLE) + i);
    }
    return all;
  }

  /** Sets what is durable at a power failure; later syncs of the old disk do not count. */
  synchronized void promised(long[] durable, long sequenceTop) {
    for (int i = 0; i < WORKERS_MAX; i++) {
      set(DURABLE + i, durable[i]);
    }
    set(SEQUENCE, sequenceTop);
  }

  /** Sets the state that a recovery found as the new state. */
  synchronized void found(int worker, long n) {
    set(COMMITTED + worker, n);
    set(DURABLE + worker, n);
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
