package io.fovea.index;

import io.fovea.encoding.Tuple;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.schema.Expiry;
import java.lang.foreign.MemorySegment;

/**
 * Builds the entries of the index by time of a table of byte strings. Unlike other {@link
 * EntryMaker}s it is not user code, and is known as soon as a file is opened.
 *
 * @param by the position of the time in a value
 */
public record TimeEntry(Expiry.OfBytes by) implements EntryMaker {
  @Override
  public int make(
      StatementContext context,
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
