package io.fovea.spring.boot.test;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.TypeExcludeFilter;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.classreading.MetadataReaderFactory;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.test.context.TestContextAnnotationUtils;

/**
 * Keeps component scanning from finding anything in a test with {@link FoveaTest}. Spring Boot has
 * an annotation for this, but not the same one in versions 3 and 4.
 */
final class FoveaTestContextCustomizerFactory implements ContextCustomizerFactory {
  @Override
  public @Nullable ContextCustomizer createContextCustomizer(
      Class<?> testClass, List<ContextConfigurationAttributes> configAttributes) {
    return TestContextAnnotationUtils.hasAnnotation(testClass, FoveaTest.class)
        ? new NoScanning()
        : null;
  }

  /** A record: equal customizers let tests share a cached context. */
  private record NoScanning() implements ContextCustomizer {
    @Override
    public void customizeContext(
        ConfigurableApplicationContext context, MergedContextConfiguration config) {
      context
          .getBeanFactory()
          .registerSingleton(NoScanning.class.getName(), new ExcludeEverything());
    }
  }

  private static final class ExcludeEverything extends TypeExcludeFilter {
    @Override
    public boolean match(MetadataReader reader, MetadataReaderFactory factory) {
      return true;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof ExcludeEverything;
    }

    @Override
    public int hashCode() {
      return ExcludeEverything.class.hashCode();
    }
  }
}
