package io.fovea.tpcc.ycsb;

import java.util.ArrayList;
import java.util.List;

/** The workloads; their names are what the command line takes, in lower case and with hyphens. */
enum Workload {
  /** Update heavy: a session store. */
  A(Keys.Shape.ZIPFIAN, .99, Op.READ, 50, Op.UPDATE, 50),
  /** Read mostly: tags of photos. */
  B(Keys.Shape.ZIPFIAN, .99, Op.READ, 95, Op.UPDATE, 5),
  /** Read only: a cache of profiles. */
  C(Keys.Shape.ZIPFIAN, .99, Op.READ, 100, Op.UPDATE, 0),
  /** Read the latest: status updates. */
  D(Keys.Shape.LATEST, .99, Op.READ, 95, Op.INSERT, 5),
  /** Short ranges: threads of conversations. */
  E(Keys.Shape.ZIPFIAN, .99, Op.SCAN, 95, Op.INSERT, 5),
  /** Read, modify, write: a store of users. */
  F(Keys.Shape.ZIPFIAN, .99, Op.READ, 50, Op.MODIFY, 50),

  /** 8 reads and 8 writes, high contention. */
  WRITE_INTENSIVE_HIGH(.99, transaction(100, 8, 8)),
  /** 8 reads and 8 writes, medium contention. */
  WRITE_INTENSIVE_MEDIUM(.6, transaction(100, 8, 8)),
  /** 15 reads and a write, high contention. */
  READ_INTENSIVE_HIGH(.99, transaction(100, 15, 1)),
  /** 15 reads and a write, medium contention. */
  READ_INTENSIVE_MEDIUM(.6, transaction(100, 15, 1)),
  /** Four of five 2 reads and 2 writes, the others 28 reads; high contention. */
  MIXED_HIGH(.9, transaction(80, 2, 2), transaction(20, 28, 0)),
  /** The same, medium contention. */
  MIXED_MEDIUM(.6, transaction(80, 2, 2), transaction(20, 28, 0)),
  /** One of twenty 1,000 reads, the others 8 reads and 8 writes. */
  LONG(.9, transaction(95, 8, 8), transaction(5, 1_000, 0));

  /** How many records a scan reads at most. */
  static final int SCAN_MAX = 100;

  private static final int CLASSIC_FIELDS = 10;

  /** Fields of 100 bytes that a record has. */
  final int fields;

  /** Which keys are drawn, unless the user wants others. */
  final Keys.Shape keys;

  final double theta;

  private final Part[] parts;
  private final int[] percents = new int[Op.COUNT];

  /**
   * A kind of transactions.
   *
   * @param percent how many of 100 there are
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

  /** Whether it is one of the dissertation, whose transactions have a size of their own. */
  boolean transactional() {
    return parts.length > 0;
  }

  /**
   * Its kinds of transactions.
   *
   * @param ops how many operations a transaction of A to F has
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
