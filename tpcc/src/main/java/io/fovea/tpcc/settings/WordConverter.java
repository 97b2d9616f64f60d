package io.fovea.tpcc.settings;

import java.util.Arrays;
import java.util.Iterator;
import java.util.Locale;
import java.util.stream.Stream;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts the constants of an enum from and to {@code lower-case-words}. */
public abstract class WordConverter<E extends Enum<E>>
    implements ITypeConverter<E>, Iterable<String> {
  private final E[] constants;

  protected WordConverter(E[] constants) {
    this.constants = constants;
  }

  private static String word(Enum<?> e) {
    return e.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  @Override
  public Iterator<String> iterator() {
    return words().iterator();
  }

  private Stream<String> words() {
    return Arrays.stream(constants).map(WordConverter::word);
  }

  @Override
  public E convert(String value) {
    for (E e : constants) {
      if (word(e).equalsIgnoreCase(value.replace('_', '-'))) {
        return e;
      }
    }
    throw new TypeConversionException(
        "'" + value + "' is not one of " + String.join(", ", words().toList()));
  }
}
