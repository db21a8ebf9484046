//! The alphabets of a single shift: the default extension and those of national languages
//! (TS 23.038 §6.2.1.1, §A.2), sixteen codes a line; `\u{fffd}` stands where there is no character.

use super::table::Table;

/// What the alphabets of India and Urdu have alike: their own characters stand between `#*` and
/// the letters, and one has no euro.
macro_rules! indian {
    ($own:literal, $euro:literal $(,)?) => {
        Table::of(concat!(
            "@£$¥¿\"¤%&'\u{c}*+�-/<=>¡^¡_#*",
            $own,
            "|ABCDEFGHIJKLMNOPQRSTUVWXYZ����������",
            $euro,
            "����������\
             ����������������",
        ))
    };
}

/// By the national language identifier (TS 23.040 §9.2.3.24.15).
pub(super) static SINGLE_SHIFT: [Option<Table>; 14] = [
    // Default, §6.2.1.1
    Some(Table::of(
        "����������\u{c}�����\
         ����^�����������\
         ��������{}�����\\\
         ������������[~]�\
         |���������������\
         ����������������\
         �����€����������\
         ����������������",
    )),
    // Turkish, §A.2.1
    Some(Table::of(
        "����������\u{c}�����\
         ����^�����������\
         ��������{}�����\\\
         ������������[~]�\
         |������Ğ�İ������\
         ���Ş������������\
         ���ç�€�ğ�ı������\
         ���ş������������",
    )),
    // Spanish, §A.2.2
    Some(Table::of(
        "���������ç\u{c}�����\
         ����^�����������\
         ��������{}�����\\\
         ������������[~]�\
         |Á�������Í�����Ó\
         �����Ú����������\
         �á���€���í�����ó\
         �����ú����������",
    )),
    // Portuguese, §A.2.3
    Some(Table::of(
        "�����ê���ç\u{c}Ôô�Áá\
         ��ΦΓ^ΩΠΨΣΘ�����Ê\
         ��������{}�����\\\
         ������������[~]�\
         |À�������Í�����Ó\
         �����Ú�����ÃÕ���\
         �Â���€���í�����ó\
         �����ú�����ãõ��â",
    )),
    // Bengali, §A.2.4
    Some(indian!(
        "০১�২৩৪৫\
         ৬৭৮৯\u{9df}ৠৡ\u{9e2}{}\u{9e3}৲৳৴৵\\\
         ৶৷৸৹৺�������[~]�",
        "€",
    )),
    // Gujarati, §A.2.5
    Some(indian!(
        "।॥�૦૧૨૩\
         ૪૫૬૭૮૯��{}�����\\\
         ������������[~]�",
        "€",
    )),
    // Hindi, §A.2.6
    Some(indian!(
        "।॥�०१२३\
         ४५६७८९\u{951}\u{952}{}\u{953}\u{954}\u{958}\u{959}\u{95a}\\\
         \u{95b}\u{95c}\u{95d}\u{95e}\u{95f}ॠॡ\u{962}\u{963}॰ॱ�[~]�",
        "€",
    )),
    // Kannada, §A.2.7
    Some(indian!(
        "।॥�೦೧೨೩\
         ೪೫೬೭೮೯ೞೱ{}ೲ����\\\
         ������������[~]�",
        "€",
    )),
    // Malayalam, §A.2.8
    Some(indian!(
        "।॥�൦൧൨൩\
         ൪൫൬൭൮൯൰൱{}൲൳൴൵ൺ\\\
         ൻർൽൾൿ�������[~]�",
        "€",
    )),
    // Oriya, §A.2.9
    Some(indian!(
        "।॥�୦୧୨୩\
         ୪୫୬୭୮୯\u{b5c}\u{b5d}{}ୟ୰ୱ��\\\
         ������������[~]�",
        "€",
    )),
    // Punjabi, §A.2.10
    Some(indian!(
        "।॥�੦੧੨੩\
         ੪੫੬੭੮੯\u{a59}\u{a5a}{}\u{a5b}ੜ\u{a5e}\u{a75}�\\\
         ������������[~]�",
        "€",
    )),
    // Tamil, §A.2.11
    Some(indian!(
        "।॥�௦௧௨௩\
         ௪௫௬௭௮௯௳௴{}௵௶௷௸௺\\\
         ������������[~]�",
        "€",
    )),
    // Telugu, §A.2.12
    Some(indian!(
        "���౦౧౨౩\
         ౪౫౬౭౮౯ౘౙ{}౸౹౺౻౼\\\
         ౽౾౿���������[~]�",
        "�",
    )),
    // Urdu, §A.2.13
    Some(indian!(
        "\u{600}\u{601}�\u{6f0}\u{6f1}\u{6f2}\u{6f3}\
         \u{6f4}\u{6f5}\u{6f6}\u{6f7}\u{6f8}\u{6f9}\u{60c}\u{60d}{}\u{60e}\u{60f}\u{610}\u{611}\
         \u{612}\\\
         \u{613}\u{614}\u{61b}\u{61f}\u{640}\u{652}\u{658}\u{66b}\u{66c}\u{672}\u{673}\u{6cd}[~\
         ]\u{6d4}",
        "€",
    )),
];
