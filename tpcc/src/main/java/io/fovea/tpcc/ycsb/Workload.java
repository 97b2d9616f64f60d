package io.fovea.tpcc.ycsb;

import java.util.ArrayList;
import java.util.List;

/** The workloads. On the command line, their names are in lower case with hyphens. */
enum Workload {
  /** Update heavy: a session store. */
  A(Keys.Shape.ZIPFIAN, .99, Op.READ, 50, Op.UPDATE, 50),
  /** Read mostly: photo tagging. */
  B(Keys.Shape.ZIPFIAN, .99, Op.READ, 95, Op.UPDATE, 5),
  /** Read only: a user profile cache. */
  C(Keys.Shape.ZIPFIAN, .99, Op.READ, 100, Op.UPDATE, 0),
  /** Read latest: status updates. */
  D(Keys.Shape.LATEST, .99, Op.READ, 95, Op.INSERT, 5),
  /** Short ranges: threaded conversations. */
  E(Keys.Shape.ZIPFIAN, .99, Op.SCAN, 95, Op.INSERT, 5),
  /** Read-modify-write: a user database. */
  F(Keys.Shape.ZIPFIAN, .99, Op.READ, 50, Op.MODIFY, 50),

  /** 8 reads and 8 writes, high contention. */
  WRITE_INTENSIVE_HIGH(.99, transaction(100, 8, 8)),
  /** 8 reads and 8 writes, medium contention. */
  WRITE_INTENSIVE_MEDIUM(.6, transaction(100, 8, 8)),
  /** 15 reads and 1 write, high contention. */
  READ_INTENSIVE_HIGH(.99, transaction(100, 15, 1)),
  /** 15 reads and 1 write, medium contention. */
  READ_INTENSIVE_MEDIUM(.6, transaction(100, 15, 1)),
  /** 80 % with 2 reads and 2 writes, 20 % with 28 reads; high contention. */
  MIXED_HIGH(.9, transaction(80, 2, 2), transaction(20, 28, 0)),
  /** The same with medium contention. */
  MIXED_MEDIUM(.6, transaction(80, 2, 2), transaction(20, 28, 0)),
  /** 5 % with 1,000 reads, 95 % with 8 reads and 8 writes. */
  LONG(.9, transaction(95, 8, 8), transaction(5, 1_000, 0));

  static final int SCAN_MAX = 100;

  private static final int CLASSIC_FIELDS = 10;

  /** The number of fields of a record, 100 bytes each. */
  final int fields;

  final Keys.Shape keys;

  final double theta;

  private final Part[] parts;
  private final int[] percents = new int[Op.COUNT];

  /**
   * A kind of transactions.
   *
   * @param percent the percentage of transactions of this kind
   */
  private record Part(int percent, int reads, int writes) {
    String id() {
      return writes == 0 ? reads + "Reads" : reads + "Reads" + writes + "Writes";
    }
  }

  private static Part transaction(int percent, int reads, int writes) {
    return new Part(percent, reads, writes);
  }

  Workload(Keys.Shape keys, double theta, Op first, int percent, Op second, int otherPercent) {
    this.fields = CLASSIC_FIELDS;
    this.keys = keys;
    this.theta = theta;
    this.parts = new Part[0];
    percents[first.ordinal()] = percent;
    percents[second.ordinal()] = otherPercent;
  }

  Workload(double theta, Part... parts) {
    this.fields = 1;
    this.keys = Keys.Shape.ZIPFIAN;
    this.theta = theta;
    this.parts = parts;
  }

  /** Tells whether it is one of the dissertation, with fixed transaction sizes. */
  boolean transactional() {
    return parts.length > 0;
  }

  /**
   * Returns the kinds of transactions.
   *
   * @param ops operations per transaction of A to F
   * @param readFirst whether writes read the record first
   */
  List<Kind> kinds(int ops, boolean readFirst) {
    List<Kind> kinds = new ArrayList<>();
    for (Part p : parts) {
      Op write = readFirst ? Op.MODIFY : Op.WRITE;
      kinds.add(Kind.of(p.id(), p.percent, p.reads, p.writes, write));
    }
    if (!transactional() && ops > 1) {
      kinds.add(Kind.drawn(ops, percents));
    } else if (!transactional()) {
      for (Op op : Op.values()) {
        if (percents[op.ordinal()] > 0) {
          kinds.add(Kind.single(op, percents[op.ordinal()]));
        }
      }
    }
    return List.copyOf(kinds);
  }
}
