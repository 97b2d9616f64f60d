package io.fovea.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.bindings.generated.LibC;
import io.fovea.bindings.generated.LibUring;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** The declarations of all functions allow one downcall handle to serve them. */
class NativeFunctionTest {
  @Test
  void argumentsOfLibcFitTheSharedHandle() throws Exception {
    assertFitIntoTheSharedHandle(LibC.class);
  }

  /** The generated class loads the library. */
  @Test
  @EnabledIf("hasLiburing")
  void argumentsOfLiburingFitTheSharedHandle() throws Exception {
    assertFitIntoTheSharedHandle(LibUring.class);
  }

  static boolean hasLiburing() {
    try (Arena arena = Arena.ofConfined()) {
      SymbolLookup.libraryLookup(Uring.LIBRARY, arena);
      return true;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static void assertFitIntoTheSharedHandle(Class<?> library) throws Exception {
    List<String> checked = new ArrayList<>();
    for (Method method : library.getMethods()) {
      if (!method.getName().endsWith("$descriptor")) {
        continue;
      }
      var descriptor = (FunctionDescriptor) method.invoke(null);
      String name = method.getName();
      assertTrue(descriptor.argumentLayouts().size() <= 6, name);
      descriptor.argumentLayouts().forEach(layout -> assertInRegister(layout, name));
      descriptor.returnLayout().ifPresent(layout -> assertInRegister(layout, name));
      checked.add(name);
    }
    assertTrue(checked.size() > 10, checked::toString);
  }

  private static void assertInRegister(MemoryLayout layout, String name) {
    boolean integer =
        layout instanceof AddressLayout
            || layout instanceof ValueLayout.OfInt
            || layout instanceof ValueLayout.OfLong;
    assertTrue(integer, () -> name + ": " + layout);
  }

  @Test
  void intsKeepTheirSign() {
    assertEquals(-Errno.EBADF, FileCalls.close(-1));
    assertEquals(-Errno.EBADF, FileCalls.fsync(Integer.MIN_VALUE));
    assertEquals(-Errno.EBADF, FileCalls.pread(-1, 0, 0, 0));
    assertEquals(-Errno.EINVAL, MemoryCalls.madvise(1, 1, -1));
  }

  @Test
  void variadicFunctionsGetTheirArguments() {
    int fd = FileCalls.open("/dev/zero", FileCalls.O_RDONLY | FileCalls.O_CLOEXEC, 0);
    assertTrue(fd >= 0, () -> "open: " + fd);
    assertEquals(0, FileCalls.lockRecords(fd, true));
    assertEquals(0, FileCalls.unlockRecords(fd));
    assertEquals(0, FileCalls.close(fd));
  }
}
