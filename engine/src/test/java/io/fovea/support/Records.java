package io.fovea.support;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;

/** Copies of records with other components. */
public final class Records {
  private Records() {}

  /**
   * Returns a copy with other components.
   *
   * @param namesAndValues a name, its value, and so on
   */
  @SuppressWarnings("unchecked")
  public static <R extends Record> R with(R of, Object... namesAndValues) {
    RecordComponent[] components = of.getClass().getRecordComponents();
    Object[] values = new Object[components.length];
    try {
      for (int i = 0; i < components.length; i++) {
        values[i] = components[i].getAccessor().invoke(of);
      }
      for (int n = 0; n < namesAndValues.length; n += 2) {
        Object name = namesAndValues[n];
        int i = Arrays.stream(components).map(RecordComponent::getName).toList().indexOf(name);
        if (i < 0) {
          throw new AssertionError(of.getClass() + " has no component " + name);
        }
        values[i] = namesAndValues[n + 1];
      }
      Class<?>[] types =
          Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
      return (R) of.getClass().getDeclaredConstructor(types).newInstance(values);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }
}
