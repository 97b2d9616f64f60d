package io.fovea.tpcc.ycsb;

/** What a transaction does with a record. */
enum Op {
  /** Reads it. */
  READ("read", false),
  /** Writes it whole, without having read it. */
  WRITE("write", true),
  /** Replaces one field of it. */
  UPDATE("update", true),
  /** Reads all of it and replaces one field. */
  MODIFY("readModifyWrite", true),
  /** Makes a new one. */
  INSERT("insert", true),
  /** Reads some that follow each other. */
  SCAN("scan", false);

  static final int COUNT = values().length;

  /** In reports. */
  final String id;

  final boolean writes;

  Op(String id, boolean writes) {
    this.id = id;
    this.writes = writes;
  }
}
