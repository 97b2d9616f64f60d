package io.fovea.index;

import java.lang.foreign.MemorySegment;

/** Makes the entries of an index whose keys are computed by a user's code. */
public interface EntryMaker {
  /**
   * Computes the key of a record's entry.
   *
   * @param statementContext whose scratch memory may be used
   * @param pk holds the record's key
   * @param record holds the record
   * @param recordLen the bytes of the record; all rows of a layout have the same
   * @param out where the key of the entry goes, without the primary key
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
