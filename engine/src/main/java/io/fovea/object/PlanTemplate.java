package io.fovea.object;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A plan whose two method handles are constants for the JIT.
 *
 * <p>The JIT inlines a method handle if it is a constant, such as the value of a static final
 * field. So each plan is a hidden class, defined from the bytes of this one, that gets its handles
 * from its class data. This class itself is never initialized.
 */
final class PlanTemplate implements Plan {
  private static final MethodHandle WRITE = handle(0);
  private static final MethodHandle READ = handle(1);

  private PlanTemplate() {}

  /**
   * Creates a plan.
   *
   * @param write a handle that takes a writer and an object
   * @param read a handle that takes a reader and returns an object
   */
  static Plan of(MethodHandle write, MethodHandle read) {
    MethodHandles.Lookup lookup = MethodHandles.lookup();
    MethodHandle[] handles = {
      write.asType(MethodType.methodType(void.class, ObjectWriter.class, Object.class)),
      read.asType(MethodType.methodType(Object.class, ObjectReader.class))
    };
    try (InputStream in = PlanTemplate.class.getResourceAsStream("PlanTemplate.class")) {
      if (in == null) {
        throw new IllegalStateException("The class file of " + PlanTemplate.class + " is missing.");
      }
      MethodHandles.Lookup made =
          lookup.defineHiddenClassWithClassData(in.readAllBytes(), List.of(handles), true);
      return (Plan)
          made.findConstructor(made.lookupClass(), MethodType.methodType(void.class)).invoke();
    } catch (IOException | ReflectiveOperationException e) {
      throw new IllegalStateException("A plan could not be made.", e);
    } catch (Throwable e) {
      throw Throwables.rethrow(e);
    }
  }

  private static MethodHandle handle(int i) {
    try {
      return MethodHandles.classDataAt(MethodHandles.lookup(), "_", MethodHandle.class, i);
    } catch (IllegalAccessException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @Override
  public void write(ObjectWriter out, @Nullable Object object) {
    try {
      WRITE.invokeExact(out, object);
    } catch (Throwable e) {
      throw Throwables.rethrow(e);
    }
  }

  @Override
  public @Nullable Object read(ObjectReader in) {
    try {
      return (Object) READ.invokeExact(in);
    } catch (Throwable e) {
      throw Throwables.rethrow(e);
    }
  }
}
