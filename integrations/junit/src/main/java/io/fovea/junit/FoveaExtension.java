package io.fovea.junit;

import static org.junit.platform.commons.support.AnnotationSupport.findAnnotatedFields;
import static org.junit.platform.commons.support.AnnotationSupport.findAnnotation;

import io.fovea.Database;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestInstancePostProcessor;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The extension that {@link FoveaDatabase} registers.
 *
 * <p>Stateless; any thread.
 *
 * @since 0.2.0
 */
public final class FoveaExtension
    implements BeforeAllCallback,
        BeforeEachCallback,
        AfterEachCallback,
        TestInstancePostProcessor,
        ParameterResolver {
  // A database is in the store of the context that it is open for, its owner, under its name.
  // Lookups
  // include the stores of enclosing contexts, so a test finds the database of its class. JUnit
  // closes
  // the values of a store when its context ends.

  private static final Namespace NAMESPACE = Namespace.create(FoveaExtension.class);

  /** An annotation that applies to a parameter or a field, and the owner of its database. */
  private record Declaration(FoveaDatabase annotation, ExtensionContext owner) {}

  /** The databases of an owner. */
  private record Owned(List<OpenDatabase> databases) {
    static Owned by(ExtensionContext owner) {
      return store(owner)
          .getOrComputeIfAbsent(
              key(owner), key -> new Owned(new CopyOnWriteArrayList<>()), Owned.class);
    }

    /** The key contains the owner, because lookups include the stores of enclosing contexts. */
    static Object key(ExtensionContext owner) {
      return List.of("owned", owner.getUniqueId());
    }
  }

  /** What was in use in the databases of enclosing contexts before a test. */
  private record Before(Map<OpenDatabase, OpenDatabase.Uses> uses) {}

  /** Creates the extension; JUnit calls this. */
  public FoveaExtension() {}

  /** Constructors and instance fields receive databases that are open for one test. */
  @Override
  public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext root) {
    return ExtensionContextScope.TEST_METHOD;
  }

  // --------------------------------------------------------------------------------------- fields

  @Override
  public void beforeAll(ExtensionContext context) {
    inject(context, context.getRequiredTestClass(), null);
  }

  @Override
  public void postProcessTestInstance(Object instance, ExtensionContext context) {
    inject(context, instance.getClass(), instance);
  }

  /** Sets the instance fields of a test instance, or the static fields of a test class. */
  private static void inject(ExtensionContext context, Class<?> type, @Nullable Object instance) {
    List<Field> fields =
        new ArrayList<>(
            findAnnotatedFields(
                type,
                FoveaDatabase.class,
                f -> Modifier.isStatic(f.getModifiers()) == (instance == null)));
    // Fields that only refer to a database by its name come last.
    fields.sort(Comparator.comparing(f -> !OpenDatabase.hasSettings(annotation(f))));
    for (Field field : fields) {
      String what = "Field " + field.getDeclaringClass().getName() + '.' + field.getName();
      if (!isInjectable(field.getType())) {
        throw new ExtensionConfigurationException(wrongType(what, field.getType()));
      }
      if (Modifier.isFinal(field.getModifiers())) {
        throw new ExtensionConfigurationException(
            what + " is final, and @FoveaDatabase can't set it. Remove the modifier.");
      }
      Declaration declaration =
          settled(new Declaration(annotation(field), context), context, field.getDeclaringClass());
      Object value = value(declaration, field.getType());
      try {
        field.setAccessible(true);
        field.set(instance, value);
      } catch (IllegalAccessException | RuntimeException e) {
        throw new ExtensionConfigurationException(what + " can't be set.", e);
      }
    }
  }

  private static FoveaDatabase annotation(Field field) {
    return findAnnotation(field, FoveaDatabase.class).orElseThrow();
  }

  // ----------------------------------------------------------------------------------- parameters

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    if (parameter.isAnnotated(FoveaDatabase.class) && !isInjectable(type)) {
      throw new ParameterResolutionException(
          wrongType("Parameter \"" + parameter.getParameter() + '"', type));
    }
    return declaration(parameter, context) != null;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Declaration declaration = declaration(parameter, context);
    if (declaration == null) {
      throw new IllegalArgumentException("not supported: " + parameter);
    }
    return value(declaration, parameter.getParameter().getType());
  }

  private static @Nullable Declaration declaration(
      ParameterContext parameter, ExtensionContext context) {
    Class<?> inside = parameter.getDeclaringExecutable().getDeclaringClass();
    Optional<FoveaDatabase> own = parameter.findAnnotation(FoveaDatabase.class);
    if (own.isPresent()) {
      return settled(new Declaration(own.get(), context), context, inside);
    }
    return parameter.getParameter().getType() == Database.class ? ofClass(context, inside) : null;
  }

  private static boolean isInjectable(Class<?> type) {
    return type == Database.class || type == Path.class;
  }

  private static String wrongType(String what, Class<?> type) {
    return what
        + " is a "
        + type.getName()
        + ", but @FoveaDatabase injects a "
        + Database.class.getName()
        + " or the "
        + Path.class.getName()
        + " of its file.";
  }

  // --------------------------------------------------------------------------------- declarations

  /** Replaces an annotation without settings by that of a test class for the same name. */
  private static Declaration settled(
      Declaration declaration, ExtensionContext context, Class<?> inside) {
    if (OpenDatabase.hasSettings(declaration.annotation)) {
      return declaration;
    }
    Declaration ofClass = ofClass(context, inside);
    return ofClass != null && ofClass.annotation.name().equals(declaration.annotation.name())
        ? new Declaration(ofClass.annotation, declaration.owner)
        : declaration;
  }

  /**
   * Returns the declaration by a test class.
   *
   * @param inside the class of the member to inject; classes nested in it are not searched
   */
  private static @Nullable Declaration ofClass(ExtensionContext context, Class<?> inside) {
    boolean isInside = false;
    for (ExtensionContext c = context; c != null; c = c.getParent().orElse(null)) {
      Class<?> type = c.getTestMethod().isPresent() ? null : c.getTestClass().orElse(null);
      isInside |= type != null && inside.isAssignableFrom(type);
      FoveaDatabase annotation =
          isInside && type != null ? findAnnotation(type, FoveaDatabase.class).orElse(null) : null;
      if (annotation != null) {
        boolean perClass = c.getTestInstanceLifecycle().orElse(null) == Lifecycle.PER_CLASS;
        return new Declaration(annotation, perClass ? c : context);
      }
    }
    return null;
  }

  private static Object value(Declaration declaration, Class<?> type) {
    ExtensionContext owner = declaration.owner;
    OpenDatabase db =
        store(owner)
            .getOrComputeIfAbsent(
                List.of("database", declaration.annotation.name()),
                key -> {
                  OpenDatabase opened = OpenDatabase.open(declaration.annotation, owner);
                  Owned.by(owner).databases.add(opened);
                  return opened;
                },
                OpenDatabase.class);
    db.requireSettings(declaration.annotation);
    return type == Path.class ? db.file() : db.database();
  }

  private static Store store(ExtensionContext context) {
    return context.getStore(NAMESPACE);
  }

  // ---------------------------------------------------- databases that are open for several tests

  @Override
  public void beforeEach(ExtensionContext context) {
    Map<OpenDatabase, OpenDatabase.Uses> uses = new HashMap<>();
    shared(context).forEach(db -> uses.put(db, db.uses()));
    store(context).put(Before.class, new Before(uses));
  }

  @Override
  public void afterEach(ExtensionContext context) {
    Before before = store(context).get(Before.class, Before.class); // null if beforeEach failed
    Map<OpenDatabase, OpenDatabase.Uses> uses = before == null ? Map.of() : before.uses;
    AssertionError failure = null;
    for (OpenDatabase db : shared(context)) {
      AssertionError leak = db.leftOpen(context, uses.getOrDefault(db, OpenDatabase.Uses.NONE));
      if (failure == null) {
        failure = leak;
      } else if (leak != null) {
        failure.addSuppressed(leak);
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  /** Returns the databases of enclosing contexts that no other test uses at the same time. */
  private static List<OpenDatabase> shared(ExtensionContext test) {
    List<OpenDatabase> databases = new ArrayList<>();
    ExtensionContext inner = test;
    while (inner.getExecutionMode() == ExecutionMode.SAME_THREAD && inner.getParent().isPresent()) {
      inner = inner.getParent().get();
      Owned owned = store(inner).get(Owned.key(inner), Owned.class);
      if (owned != null) {
        databases.addAll(owned.databases);
      }
    }
    return databases;
  }
}
