package io.fovea.index;

import java.lang.foreign.MemorySegment;

/** Builds the entries of an index whose keys are computed by user code. */
public interface EntryMaker {
  /**
   * Computes the key of a record's entry, without the primary key, in {@code out}. May use the
   * scratch memory of {@code context}.
   *
   * @return its length, or -1 if the record has no entry
   */
  int make(
      StatementContext context,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment record,
      long recordOff,
      int recordLen,
      MemorySegment out,
      long outOff);
}
