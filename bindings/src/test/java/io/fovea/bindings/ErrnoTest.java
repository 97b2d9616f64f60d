package io.fovea.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.generated.LibC;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Field;
import org.junit.jupiter.api.Test;

class ErrnoTest {

  /** Each constant has the header's value, its own name, and strerror's message. */
  @Test
  void constantsMatchTheHeaders() throws Throwable {
    Linker linker = Linker.nativeLinker();
    var strerror =
        linker.downcallHandle(
            linker.defaultLookup().find("strerror").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
    int count = 0;
    for (Field field : Errno.class.getFields()) {
      int value = field.getInt(null);
      assertEquals(LibC.class.getMethod(field.getName()).invoke(null), value, field.getName());
      assertEquals(field.getName(), Errno.name(value));
      assertEquals(field.getName(), Errno.name(-value));
      MemorySegment words = (MemorySegment) strerror.invokeExact(value);
      assertEquals(words.reinterpret(256).getString(0), Errno.message(value));
      count++;
    }
    assertTrue(count >= 40, "constants found: " + count);
  }

  @Test
  void unknownNumbersHaveAName() {
    assertEquals("errno 4000", Errno.name(-4000));
    assertEquals("Unknown error 4000", Errno.message(4000));
    assertEquals("ENOSPC (28, No space left on device)", Errno.describe(-Errno.ENOSPC));
  }
}
