package io.fovea.kotlin

import io.fovea.Database
import io.fovea.ObjectSpec
import io.fovea.junit.FoveaDatabase
import io.fovea.schema.Id
import java.nio.file.Path
import kotlin.io.path.exists
import kotlin.io.path.readText
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

// docs/guide/objects.md
@JvmRecord data class Customer(@Id val id: Long, val email: String, val name: String?)

/** The code of docs/guide/objects.md: the class above, and the lines of the first test. */
class GuideTest {
  @Test
  fun customers(@FoveaDatabase db: Database) {
    // begin
    val spec = ObjectSpec.of("customers", Long::class.javaObjectType, Customer::class.java)
    val customers = db.table(spec.unique("byEmail", "email"))
    db.run<RuntimeException> { tx -> customers.insert(tx, Customer(7, "ada@example.org", null)) }
    val ada: Customer? = db.read<_, RuntimeException> { tx -> customers.get(tx, 7) }
    // end
    assertEquals(Customer(7, "ada@example.org", null), ada)
  }

  @Test
  fun thePageHasThisCode() {
    val root =
        generateSequence(Path.of("").toAbsolutePath()) { it.parent }
            .first { it.resolve("docs/guide/objects.md").exists() }
    val page = root.resolve("docs/guide/objects.md").readText()
    val test =
        root.resolve("integrations/kotlin/src/test/kotlin/io/fovea/kotlin/GuideTest.kt").readText()
    val type = test.lines().first { it.startsWith("@JvmRecord") }
    val body = test.substringAfter("// begin\n").substringBefore("// end").trimIndent().trim()
    assertEquals(
        "$type\n\n$body",
        page.substringAfter("```kotlin\n").substringBefore("```").trim(),
    )
  }
}
