package io.fovea;

import io.fovea.config.Durability;
import io.fovea.config.Translation;
import io.fovea.error.InvalidUseException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/**
 * Opens a database under a translation that the system may not support, and prints the outcome.
 * {@link UnsupportedTranslationTest} starts it.
 *
 * <p>Usage: {@code TranslationProbe FILE TRANSLATION BUFFER_BYTES [lock]}.
 */
final class TranslationProbe {
  /** MCL_FUTURE and MCL_ONFAULT: later mappings are locked page by page as they are touched. */
  private static final int FUTURE_ON_FAULT = 2 | 4;

  private TranslationProbe() {}

  public static void main(String[] args) throws Throwable {
    if (args.length > 3 && !lock()) {
      System.out.println("may not lock");
      return;
    }
    Options options =
        Options.defaults()
            .bufferBytes(Long.parseLong(args[2]))
            .durability(Durability.NONE)
            .experiments(exp -> exp.translation(Translation.valueOf(args[1])));
    try (Database db = Database.open(Path.of(args[0]), options)) {
      System.out.println("opened " + db.stats().buffer().frames());
    } catch (InvalidUseException e) {
      System.out.println("refused: " + e.getMessage());
    }
  }

  private static boolean lock() throws Throwable {
    Linker linker = Linker.nativeLinker();
    return (int)
            linker
                .downcallHandle(
                    linker.defaultLookup().find("mlockall").orElseThrow(),
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT))
                .invokeExact(FUTURE_ON_FAULT)
        == 0;
  }
}
