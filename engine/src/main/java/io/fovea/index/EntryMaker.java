package io.fovea.index;

import java.lang.foreign.MemorySegment;

/** Builds the entries of an index whose keys are computed by user code. */
public interface EntryMaker {
  /**
   * Computes the key of a record's entry.
   *
   * @param statementContext its scratch memory may be used
   * @param pk holds the record's key
   * @param record holds the record
   * @param recordLen the length of the record
   * @param out receives the key of the entry, without the primary key
   * @return its length, or -1 if the record has no entry
   */
  int make(
      StatementContext statementContext,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment record,
      long recordOff,
      int recordLen,
      MemorySegment out,
      long outOff);
}
