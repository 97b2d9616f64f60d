package io.fovea.checker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One attempt at a transaction of {@link Seats}. Written by its thread, read when that has ended.
 */
final class SeatTxn {
  /** Which seats were looked at: an interval, or all of a crowd. */
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

  /** A row as it was left. */
  record Wrote(int version, int seat) {}

  /** A look at seats: all rows that were not found then were elsewhere. */
  record Looked(Where where, Set<Integer> found, Map<Integer, Wrote> own) {}

  final long id;
  boolean committed;

  /** Whether it has ended by an exception that told its user something; it has written nothing. */
  boolean told;

  /** What it has found can't have been at one time. */
  @Nullable String contradiction;

  final List<Saw> reads = new ArrayList<>();
  final Map<Integer, Wrote> writes = new HashMap<>();
  final List<Looked> looks = new ArrayList<>();

  /** What is wrong about what it saw of its own writes. */
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
      internal = "row " + row + " was left as " + own + ", and found in seat " + seat;
    }
  }

  /** A look begins; what is {@link #saw seen} until it ends was found by it. */
  void looks() {
    found.clear();
  }

  /** It ends. */
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
