package io.fovea.tpcc.ycsb;

/** An operation on a record. */
enum Op {
  /** Reads a record. */
  READ("read", false),
  /** Writes a record whole, without reading it. */
  WRITE("write", true),
  /** Replaces one field. */
  UPDATE("update", true),
  /** Reads a record and replaces one field. */
  MODIFY("readModifyWrite", true),
  INSERT("insert", true),
  /** Reads consecutive records. */
  SCAN("scan", false);

  static final int COUNT = values().length;

  final String id;

  final boolean writes;

  Op(String id, boolean writes) {
    this.id = id;
    this.writes = writes;
  }
}
