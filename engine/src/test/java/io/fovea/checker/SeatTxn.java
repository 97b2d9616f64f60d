package io.fovea.checker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One attempt at a transaction of {@link Seats}. Written by its thread, read after that has ended.
 */
final class SeatTxn {
  /** The seats that were read: an interval, or all of a crowd. */
  record Where(int low, int high, int crowd) {
    static Where seats(int low, int high) {
      return new Where(low, high, -1);
    }

    static Where crowd(int crowd) {
      return new Where(Integer.MIN_VALUE, Integer.MAX_VALUE, crowd);
    }

    boolean has(int seat) {
      return seat >= low
          && seat <= high
          && (crowd < 0 || Math.floorMod(seat, Seats.CROWDS) == crowd);
    }
  }

  /** A row as it was found. */
  record Saw(int row, int version, int seat, long writer) {}

  /** A row as it was written. */
  record Wrote(int version, int seat) {}

  /** A read of seats: all rows that it did not find were in others. */
  record Looked(Where where, Set<Integer> found, Map<Integer, Wrote> own) {}

  final long id;
  boolean committed;

  /** Whether it ended with an exception that reports what it saw; it has written nothing. */
  boolean told;

  /** A description of what no single state contains; null if there is nothing. */
  @Nullable String contradiction;

  final List<Saw> reads = new ArrayList<>();
  final Map<Integer, Wrote> writes = new HashMap<>();
  final List<Looked> looks = new ArrayList<>();

  /** A description of a read that missed the transaction's write. */
  @Nullable String internal;

  private final Set<Integer> found = new HashSet<>();

  SeatTxn(long id) {
    this.id = id;
  }

  void saw(int row, int version, int seat, long writer) {
    found.add(row);
    Wrote own = writes.get(row);
    if (own == null) {
      reads.add(new Saw(row, version, seat, writer));
    } else if (own.version != version || own.seat != seat || writer != id) {
      internal = "row " + row + " was written as " + own + ", and found in seat " + seat;
    }
  }

  /** Begins a read of seats, which finds everything that is {@link #saw seen} until it ends. */
  void looks() {
    found.clear();
  }

  void looked(Where where) {
    looks.add(new Looked(where, new HashSet<>(found), new HashMap<>(writes)));
  }

  void wrote(int row, int version, int seat) {
    writes.put(row, new Wrote(version, seat));
  }

  @Override
  public String toString() {
    return "T" + id;
  }
}
