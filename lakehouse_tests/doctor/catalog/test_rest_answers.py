from lakehouse.doctor.catalog.rest_answers import RestAnswers
from lakehouse_tests.fixtures.fake_catalog import FakeCatalog


def test_only_of_a_table_a_credential_is_asked_for_and_only_where_it_is_wanted() -> None:
    with FakeCatalog() as fake:
        answers = RestAnswers(fake.settings())
        token = answers.log_in()
        assert token is not None
        assert token.ok
        assert answers.configure().ok
        assert answers.make_namespace("ns").ok
        assert answers.make_table("ns", "t").ok
        assert [delegation for _, _, delegation in fake.asked] == ["", "", "", "vended-credentials"]
        assert fake.asked[-1][1] == "/v1/lake/namespaces/ns/tables"
        static = RestAnswers(fake.settings(access="static"))
        static.log_in()
        static.make_table("ns", "t")
        assert fake.asked[-1][2] == ""


def test_signed_requests_are_not_ours_to_make() -> None:
    with FakeCatalog() as fake:
        assert RestAnswers(fake.settings(properties={"rest.sigv4-enabled": "true"})).has_other_login
        assert not RestAnswers(fake.settings()).has_other_login
