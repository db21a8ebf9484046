//! The alphabets of a locking shift: the default alphabet and those of national languages
//! (TS 23.038 §6.2.1, §A.3), sixteen codes a line; `\u{fffd}` stands where there is no character.

use super::table::Table;

/// By the national language identifier (TS 23.040 §9.2.3.24.16).
pub(super) static LOCKING: [Option<Table>; 14] = [
    // Default, §6.2.1
    Some(Table::of(
        "@£$¥èéùìòÇ\nØø\rÅå\
         Δ_ΦΓΛΩΠΨΣΘΞ�ÆæßÉ\
         \x20!\"#¤%&'()*+,-./\
         0123456789:;<=>?\
         ¡ABCDEFGHIJKLMNO\
         PQRSTUVWXYZÄÖÑÜ§\
         ¿abcdefghijklmno\
         pqrstuvwxyzäöñüà",
    )),
    // Turkish, §A.3.1
    Some(Table::of(
        "@£$¥€éùıòÇ\nĞğ\rÅå\
         Δ_ΦΓΛΩΠΨΣΘΞ�ŞşßÉ\
         \x20!\"#¤%&'()*+,-./\
         0123456789:;<=>?\
         İABCDEFGHIJKLMNO\
         PQRSTUVWXYZÄÖÑÜ§\
         çabcdefghijklmno\
         pqrstuvwxyzäöñüà",
    )),
    // Spanish has none of its own.
    None,
    // Portuguese, §A.3.3
    Some(Table::of(
        "@£$¥êéúíóç\nÔô\rÁá\
         Δ_ªÇÀ∞^\\€Ó|�ÂâÊÉ\
         \x20!\"#º%&'()*+,-./\
         0123456789:;<=>?\
         ÍABCDEFGHIJKLMNO\
         PQRSTUVWXYZÃÕÚÜ§\
         ~abcdefghijklmno\
         pqrstuvwxyzãõ`üà",
    )),
    // Bengali, §A.3.4
    Some(Table::of(
        "\u{981}\u{982}\u{983}অআইঈউঊঋ\nঌ�\r�এ\
         ঐ��ওঔকখগঘঙচ�ছজঝঞ\
         \x20!টঠডঢণত)(থদ,ধ.ন\
         0123456789:;�পফ?\
         বভমযর�ল���শষসহ\u{9bc}ঽ\
         \u{9be}\u{9bf}\u{9c0}\u{9c1}\u{9c2}\u{9c3}\u{9c4}��\u{9c7}\u{9c8}��\u{9cb}\u{9cc}\
         \u{9cd}\
         ৎabcdefghijklmno\
         pqrstuvwxyz\u{9d7}\u{9dc}\u{9dd}ৰৱ",
    )),
    // Gujarati, §A.3.5
    Some(Table::of(
        "\u{a81}\u{a82}\u{a83}અઆઇઈઉઊઋ\nઌઍ\r�એ\
         ઐઑ�ઓઔકખગઘઙચ�છજઝઞ\
         \x20!ટઠડઢણત)(થદ,ધ.ન\
         0123456789:;�પફ?\
         બભમયર�લળ�વશષસહ\u{abc}ઽ\
         \u{abe}\u{abf}\u{ac0}\u{ac1}\u{ac2}\u{ac3}\u{ac4}\u{ac5}�\u{ac7}\u{ac8}\u{ac9}�\u{acb}\
         \u{acc}\u{acd}\
         ૐabcdefghijklmno\
         pqrstuvwxyzૠૡ\u{ae2}\u{ae3}૱",
    )),
    // Hindi, §A.3.6
    Some(Table::of(
        "\u{901}\u{902}\u{903}अआइईउऊऋ\nऌऍ\rऎए\
         ऐऑऒओऔकखगघङच�छजझञ\
         \x20!टठडढणत)(थद,ध.न\
         0123456789:;ऩपफ?\
         बभमयरऱलळऴवशषसह\u{93c}ऽ\
         \u{93e}\u{93f}\u{940}\u{941}\u{942}\u{943}\u{944}\u{945}\u{946}\u{947}\u{948}\u{949}\
         \u{94a}\u{94b}\u{94c}\u{94d}\
         ॐabcdefghijklmno\
         pqrstuvwxyzॲॻॼॾॿ",
    )),
    // Kannada, §A.3.7
    Some(Table::of(
        "�\u{c82}\u{c83}ಅಆಇಈಉಊಋ\nಌ�\rಎಏ\
         ಐ�ಒಓಔಕಖಗಘಙಚ�ಛಜಝಞ\
         \x20!ಟಠಪಢಣತ)(ಥದ,ಧ.ನ\
         0123456789:;�ಪಫ?\
         ಬಭಮಯರಱಲಳ�ವಶಷಸಹ\u{cbc}ಽ\
         \u{cbe}\u{cbf}\u{cc0}\u{cc1}\u{cc2}\u{cc3}\u{cc4}�\u{cc6}\u{cc7}\u{cc8}�\u{cca}\u{ccb}\
         \u{ccc}\u{ccd}\
         \u{cd5}abcdefghijklmno\
         pqrstuvwxyz\u{cd6}ೠೡ\u{ce2}\u{ce3}",
    )),
    // Malayalam, §A.3.8
    Some(Table::of(
        "�\u{d02}\u{d03}അആഇഈഉഊഋ\nഌ�\rഎഏ\
         ഐ�ഒഓഔകഖഗഘങച�ഛജഝഞ\
         \x20!ടഠഡഢണത)(ഥദ,ധ.ന\
         0123456789:;�പഫ?\
         ബഭമയരറലളഴവശഷസഹ�ഽ\
         \u{d3e}\u{d3f}\u{d40}\u{d41}\u{d42}\u{d43}\u{d44}�\u{d46}\u{d47}\u{d48}�\u{d4a}\u{d4b}\
         \u{d4c}\u{d4d}\
         \u{d57}abcdefghijklmno\
         pqrstuvwxyzൠൡ\u{d62}\u{d63}൹",
    )),
    // Oriya, §A.3.9
    Some(Table::of(
        "\u{b01}\u{b02}\u{b03}ଅଆଇଈଉଊଋ\nଌ�\r�ଏ\
         ଐ��ଓଔକଖଗଘଙଚ�ଛଜଝଞ\
         \x20!ଟଠଡଢଣତ)(ଥଦ,ଧ.ନ\
         0123456789:;�ପଫ?\
         ବଭମଯର�ଲଳ�ଵଶଷସହ\u{b3c}ଽ\
         \u{b3e}\u{b3f}\u{b40}\u{b41}\u{b42}\u{b43}\u{b44}��\u{b47}\u{b48}��\u{b4b}\u{b4c}\
         \u{b4d}\
         \u{b56}abcdefghijklmno\
         pqrstuvwxyz\u{b57}ୠୡ\u{b62}\u{b63}",
    )),
    // Punjabi, §A.3.10
    Some(Table::of(
        "\u{a01}\u{a02}\u{a03}ਅਆਇਈਉਊ�\n��\r�ਏ\
         ਐ��ਓਔਕਖਗਘਙਚ�ਛਜਝਞ\
         \x20!ਟਠਡਢਣਤ)(ਥਦ,ਧ.ਨ\
         0123456789:;�ਪਫ?\
         ਬਭਮਯਰ�ਲ\u{a33}�ਵ\u{a36}�ਸਹ\u{a3c}�\
         \u{a3e}\u{a3f}\u{a40}\u{a41}\u{a42}����\u{a47}\u{a48}��\u{a4b}\u{a4c}\u{a4d}\
         \u{a51}abcdefghijklmno\
         pqrstuvwxyz\u{a70}\u{a71}ੲੳੴ",
    )),
    // Tamil, §A.3.11
    Some(Table::of(
        "�\u{b82}ஃஅஆஇஈஉஊ�\n��\rஎஏ\
         ஐ�ஒஓஔக���ஙச��ஜ�ஞ\
         \x20!ட���ணத)(��,�.ந\
         0123456789:;னப�?\
         ��மயரறலளழவஶஷஸஹ��\
         \u{bbe}\u{bbf}\u{bc0}\u{bc1}\u{bc2}���\u{bc6}\u{bc7}\u{bc8}�\u{bca}\u{bcb}\u{bcc}\
         \u{bcd}\
         ௐabcdefghijklmno\
         pqrstuvwxyz\u{bd7}௰௱௲௹",
    )),
    // Telugu, §A.3.12
    Some(Table::of(
        "\u{c01}\u{c02}\u{c03}అఆఇఈఉఊఋ\nఌ�\rఎఏ\
         ఐ�ఒఓఔకఖగఘఙచ�ఛజఝఞ\
         \x20!టఠడఢణత)(థద,ధ.న\
         0123456789:;�పఫ?\
         బభమయరఱలళ�వశషసహ�ఽ\
         \u{c3e}\u{c3f}\u{c40}\u{c41}\u{c42}\u{c43}\u{c44}�\u{c46}\u{c47}\u{c48}�\u{c4a}\u{c4b}\
         \u{c4c}\u{c4d}\
         \u{c55}abcdefghijklmno\
         pqrstuvwxyz\u{c56}ౠౡ\u{c62}\u{c63}",
    )),
    // Urdu, §A.3.13
    Some(Table::of(
        "\u{627}\u{622}\u{628}\u{67b}\u{680}\u{67e}\u{6a6}\u{62a}\u{6c2}\u{67f}\n\u{679}\u{67d}\
         \r\u{67a}\u{67c}\
         \u{62b}\u{62c}\u{681}\u{684}\u{683}\u{685}\u{686}\u{687}\u{62d}\u{62e}\u{62f}�\u{68c}\
         \u{688}\u{689}\u{68a}\
         \x20!\u{68f}\u{68d}\u{630}\u{631}\u{691}\u{693})(\u{699}\u{632},\u{696}.\u{698}\
         0123456789:;\u{69a}\u{633}\u{634}?\
         \u{635}\u{636}\u{637}\u{638}\u{639}\u{641}\u{642}\u{6a9}\u{6aa}\u{6ab}\u{6af}\u{6b3}\
         \u{6b1}\u{644}\u{645}\u{646}\
         \u{6ba}\u{6bb}\u{6bc}\u{648}\u{6c4}\u{6d5}\u{6c1}\u{6be}\u{621}\u{6cc}\u{6d0}\u{6d2}\
         \u{64d}\u{650}\u{64f}\u{657}\
         \u{654}abcdefghijklmno\
         pqrstuvwxyz\u{655}\u{651}\u{653}\u{656}\u{670}",
    )),
];
