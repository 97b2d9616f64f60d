package io.fovea.index;

import io.fovea.encoding.Tuple;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.schema.Expiry;
import java.lang.foreign.MemorySegment;

/**
 * Makes the entries of the index by which byte strings that have expired are found: the time that a
 * value has. Unlike another {@link EntryMaker} it is no user's code, and known when a file is
 * opened.
 *
 * @param by where a value has its time
 */
public record TimeEntry(Expiry.OfBytes by) implements EntryMaker {
  @Override
  public int make(
      StatementContext statementContext,
      MemorySegment pk,
      long pkOff,
      int pkLen,
      MemorySegment record,
      long recordOff,
      int recordLen,
      MemorySegment out,
      long outOff) {
    if (recordLen < by.end()) {
      throw new InvalidUseException(
          "The value has "
              + recordLen
              + " bytes, and values of the table expire by the time in bytes "
              + by.offset()
              + " to "
              + (by.end() - 1)
              + ".");
    }
    long time = Mem.getLongBE(record, recordOff + by.offset());
    return Tuple.putInt64(out, (int) outOff, time) - (int) outOff;
  }
}
